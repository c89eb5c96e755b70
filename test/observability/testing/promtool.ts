import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

export interface PromtoolResult {
  readonly code: number | null;
  /** What it said on both streams. */
  readonly output: string;
}

/** Runs `promtool` with these arguments, and with `input` on its stdin. */
export async function promtool(args: readonly string[], input = ""): Promise<PromtoolResult> {
  const child = spawn("promtool", args, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, output: stdout + stderr };
}
