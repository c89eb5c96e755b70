import { join } from "node:path";
import { run } from "../../../../scripts/pack/run.ts";

export const ROOT = join(import.meta.dirname, "../../../..");

/** Runs `docker` in the repository. @returns what it prints @throws Error with what it said, where it fails */
export async function docker(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await run("docker", args, { cwd: ROOT, env: { ...process.env, ...env } });
  return stdout.trim();
}

export async function hasImage(image: string): Promise<boolean> {
  return (await docker(["images", "--quiet", image])) !== "";
}
