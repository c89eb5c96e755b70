// `npm start`, `npm test` and the rest: sets up what the command needs, then runs it under the project's own Node.
// Runs on the node that npm has, without a dependency: it installs them.
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "./commands.mjs";
import { runChild } from "./run-child.mjs";
import { findBroker } from "./set-up/broker.mjs";
import { SetUpError } from "./set-up/set-up-error.mjs";
import { installToolchain } from "./set-up/toolchain.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const [name = "", ...extra] = process.argv.slice(2);
const command = COMMANDS[name];

if (command === undefined) {
  console.error(`Usage: npm run ${Object.keys(COMMANDS).join("|")} [-- arguments]`);
  process.exitCode = 2;
} else if (command.help !== undefined && extra.includes("--help")) {
  console.log(command.help);
} else {
  try {
    const end = await run(command);
    if (end.signal === null) process.exitCode = end.code;
    else process.kill(process.pid, end.signal);
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** @param {import("./commands.mjs").Command} wanted */
async function run({ args, needsBroker }) {
  const dataDir = resolve(root, process.env["REPRISE_DATA_DIR"] || ".reprise");
  const { node, path } = await installToolchain(root, dataDir);
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, PATH: path };
  if (needsBroker(env)) env["REPRISE_NATS_SERVER"] = await findBroker(dataDir, { cwd: root, env, node });
  return runChild(node, [...args, ...extra], { cwd: root, env });
}
