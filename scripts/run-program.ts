import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs a program to its end. @returns its output @throws Error with both output streams, if it fails */
export async function runProgram(
  file: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const options = { env: { ...process.env, ...env }, maxBuffer: 64 * 1_024 ** 2, ...(cwd && { cwd }) };
  try {
    return (await promisify(execFile)(file, args, options)).stdout;
  } catch (error) {
    const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.trimEnd();
    throw new Error(`${[file, ...args].join(" ")} failed: ${said || message}`, { cause: error });
  }
}
