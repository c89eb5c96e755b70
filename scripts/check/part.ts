import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/** One part of the check: a script that Node runs; it passes with exit code 0 and explains itself otherwise. */
export interface Part {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
}

export interface PartResult {
  readonly passed: boolean;
  readonly seconds: number;
  /** Its output on both streams. */
  readonly output: string;
}

export async function runPart({ script, args }: Part): Promise<PartResult> {
  const started = performance.now();
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  return { passed: code === 0, seconds: (performance.now() - started) / 1_000, output: stdout + stderr };
}
