import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { SetUpError } from "./set-up-error.mjs";

/**
 * Finds a nats-server, or fetches one into the data folder. The search is the platform's own, which is TypeScript: hence the process.
 *
 * @param {string} dataDir
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, node: string }} options
 * @returns {Promise<string>} absolute path of the binary
 */
export async function findBroker(dataDir, { cwd, env, node }) {
  const child = promisify(execFile)(node, [join("scripts", "programs", "main.ts"), dataDir], { cwd, env });
  child.child.stderr?.pipe(process.stderr);
  try {
    return (await child).stdout.trim();
  } catch {
    throw new SetUpError("Set-up stopped: there is no nats-server to run.");
  }
}
