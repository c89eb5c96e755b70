// `npm run pack`: the SDK as a package that `npm install <file>` takes, in the data folder.
import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { packClient } from "./pack-client.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = resolve(root, process.env["REPRISE_DATA_DIR"] || ".reprise");
await mkdir(folder, { recursive: true });
console.log(await packClient({ root, folder }));
