import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RunContext } from "../run-context.ts";

export interface RulesRow {
  /** What the rules are. */
  readonly rules: string;
  /** Per second of processor time. */
  readonly chunksPerSecond: number;
  /** Characters that may become part of a match, after each chunk. */
  readonly pending: { readonly mean: number; readonly p99: number };
}

export interface RulesResult {
  readonly scenario: "RULES";
  /** Each has the rules of the one before and more. */
  readonly rows: readonly RulesRow[];
}

const SCRIPT = fileURLToPath(new URL("../../../../packages/moderation/bench.ts", import.meta.url));
/** What it prints of each set of rules. */
const LINE = /^\w\) (.+): ([\d.]+) M chunks .*pending mean ([\d.]+), p99 (\d+)/gm;
/** The terms alone, and with the sets that come with the platform; what follows has tenants' patterns. */
const LEAST_ROWS = 2;

/** RULES: how much text one core judges, without anything around the rules: the own bench of packages/moderation, in a process of its own. */
export async function runRules({ signal, say }: RunContext): Promise<RulesResult> {
  say("RULES");
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT], { signal });
  const rows = [...stdout.matchAll(LINE)].map(([, rules, millions, mean, p99]) => ({
    rules: rules!,
    chunksPerSecond: Number(millions) * 1e6,
    pending: { mean: Number(mean), p99: Number(p99) },
  }));
  if (rows.length < LEAST_ROWS)
    throw new Error(`The bench of packages/moderation has said nothing known: ${stdout}`);
  return { scenario: "RULES", rows };
}
