import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * Runs a program and gives its output.
 *
 * @throws Error with what it said, when it fails or is missing
 */
export async function runQuietly(
  file: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string | undefined; env?: Record<string, string> } = {},
): Promise<string> {
  try {
    const options = { env: { ...process.env, LC_ALL: "C", ...env }, ...(cwd === undefined ? {} : { cwd }) };
    return (await promisify(execFile)(file, args, options)).stdout;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    throw new Error(
      code === "ENOENT"
        ? `there is no ${file}`
        : `${file} ${args.join(" ")}: ${stderr?.trim() || String(code)}`,
      {
        cause: error,
      },
    );
  }
}
