import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RunContext } from "./run-context.ts";

export interface RulesRow {
  /** What the rules are. */
  readonly rules: string;
  readonly chunksPerSecond: number;
  /** Characters that may become part of a match, after each chunk. */
  readonly pending: { readonly mean: number; readonly p99: number };
}

export interface RulesResult {
  readonly scenario: "RULES";
  readonly rows: readonly RulesRow[];
}

const SCRIPT = fileURLToPath(new URL("../../../packages/rules/bench.ts", import.meta.url));
const LINE = /^\w\) (.+): ([\d.]+) M chunks\/s; pending mean ([\d.]+), p99 (\d+),/gm;

/** RULES: how much text one core judges, without anything around the rules: the own bench of packages/rules, in a process of its own. */
export async function runRules({ signal, say }: RunContext): Promise<RulesResult> {
  say("RULES");
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT], { signal });
  const rows = [...stdout.matchAll(LINE)].map(([, rules, millions, mean, p99]) => ({
    rules: rules!,
    chunksPerSecond: Number(millions) * 1e6,
    pending: { mean: Number(mean), p99: Number(p99) },
  }));
  if (rows.length === 0) throw new Error(`The bench of packages/rules has said nothing known: ${stdout}`);
  return { scenario: "RULES", rows };
}
