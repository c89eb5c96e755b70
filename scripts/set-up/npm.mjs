import { delimiter, dirname } from "node:path";
import { runChild } from "../run-child.mjs";
import { SetUpError } from "./set-up-error.mjs";

/**
 * Runs the machine's npm under a given Node, quietly: only what fails is said.
 *
 * @param {readonly string[]} args
 * @param {{ cwd: string, node: string }} options `node` is the binary's absolute path
 */
export async function npm(args, { cwd, node }) {
  const env = { ...process.env, PATH: [dirname(node), process.env["PATH"] ?? ""].join(delimiter) };
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const end = await runChild("npm", [...args, ...quiet], {
    cwd,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (end.code !== 0)
    throw new SetUpError(`Set-up stopped: npm ${args[0]} ended with ${end.signal ?? end.code}.`);
}
