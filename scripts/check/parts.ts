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

const LINT = ["--type-aware", "--deny-warnings"];

/** The longest first: they start together, and two cores are enough then. */
export const PARTS: readonly Part[] = [
  { name: "types", script: "node_modules/@typescript/native/bin/tsc", args: [] },
  { name: "lint", script: "node_modules/oxlint/bin/oxlint", args: LINT },
  { name: "unused", script: "node_modules/knip/bin/knip.js", args: ["--no-progress"] },
  { name: "boundaries", script: "scripts/check/boundaries.ts", args: [] },
  { name: "format", script: "node_modules/oxfmt/bin/oxfmt", args: ["--check"] },
  { name: "repository", script: "scripts/check/repository.ts", args: [] },
];

/** Problems that a machine can mend. The formatter goes last: it has to see what the linter wrote. */
export const FIXES: readonly Part[] = [
  { name: "lint", script: "node_modules/oxlint/bin/oxlint", args: [...LINT, "--fix"] },
  { name: "format", script: "node_modules/oxfmt/bin/oxfmt", args: [] },
];
