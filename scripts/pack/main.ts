// `npm run pack`: each public package as a file that `npm install <file>` takes, in the data folder.
import { resolve } from "node:path";
import { packPackage } from "./pack-package.ts";
import { findPublic, readWorkspaces } from "./public-packages.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = resolve(root, process.env["REPRISE_DATA_DIR"] || ".reprise");
const workspaces = readWorkspaces(root);
for (const workspace of findPublic(workspaces))
  console.log(await packPackage(workspace, { root, folder, workspaces }));
