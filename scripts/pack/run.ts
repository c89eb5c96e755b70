import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs a program to its end. @throws Error with what it said on both streams, where it fails */
export async function run(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<{ stdout: string; stderr: string }> {
  try {
    return await promisify(execFile)(file, args, { ...options, maxBuffer: 64 * 1_024 ** 2 });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${[file, ...args].join(" ")} failed:\n${stdout}${stderr}`.trimEnd(), { cause: error });
  }
}
