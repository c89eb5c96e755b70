// `npm run release:check`: whether this commit can be released; `-- --quick` does without a registry, other runtimes and bundlers.
import { resolve, join } from "node:path";
import { parseArgs } from "node:util";
import { checkRelease } from "./check-release.ts";
import { installTools } from "./install-tools.ts";

const root = resolve(import.meta.dirname, "../..");
const dataDir = resolve(root, process.env["REPRISE_DATA_DIR"] || ".reprise");
const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const tools = values.quick ? undefined : await installTools(dataDir);
const folder = join(dataDir, "release", "packages");
if (!(await checkRelease({ root, folder, tools, say: console.log }))) process.exitCode = 1;
