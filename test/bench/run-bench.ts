import { findNatsServer } from "@reprise/runtime";
import { type MachineFacts, readMachineFacts } from "./measure/machine.ts";
import type { BenchOptions } from "./options.ts";
import { formatResult, writeReport } from "./report.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import type { RunContext, ScenarioResult } from "./scenarios/run.ts";
import { NEEDS_REDIS } from "./targets/all.ts";

export interface BenchRun {
  options: BenchOptions;
  /** Ends the run when it aborts. */
  signal: AbortSignal;
  env: Readonly<Record<string, string | undefined>>;
  dataDir: string;
  print: (text: string) => void;
}

/** Runs the scenarios of the options, prints a table after each, and writes the JSON file. */
export async function runBench({ options, signal, env, dataDir, print }: BenchRun): Promise<void> {
  const startedAt = new Date().toISOString();
  const { path: natsServer } = await findNatsServer(env, dataDir);
  const settings = { natsServer, redis: options.redis, profileDir: options.profile };
  const machine = await readMachineFacts(settings);
  print(describeMachine(machine));

  const notes: string[] = [];
  const targets = options.targets.filter((target) => {
    if (machine.redis !== undefined || !NEEDS_REDIS.has(target)) return true;
    notes.push(
      `${target} is left out: ${options.redis} does not run here (Debian: apt-get install redis-server).`,
    );
    return false;
  });
  notes.forEach(print);

  const say = (line: string) => print(`… ${line}`);
  const context: RunContext = { settings, targets, quick: options.quick, signal, say };
  const results: ScenarioResult[] = [];
  for (const scenario of options.only) {
    const result: ScenarioResult = await SCENARIOS[scenario](context);
    results.push(result);
    print(`\n${formatResult(result)}\n`);
  }
  const report = { startedAt, machine, options, notes, results };
  print(`\nWritten to ${await writeReport(report, { out: options.out, dataDir })}`);
}

function describeMachine({
  cpu,
  cores,
  memoryBytes,
  system,
  loadBefore,
  node,
  natsServer,
  redis,
}: MachineFacts): string {
  const memory = `${(memoryBytes / 2 ** 30).toFixed(0)} GB`;
  const load =
    loadBefore > cores / 2
      ? `load ${loadBefore.toFixed(1)}: OTHERS ARE AT WORK, figures will be worse`
      : `load ${loadBefore.toFixed(1)}`;
  return `${cores} x ${cpu}, ${memory}, ${system}, ${load}\nnode ${node}, ${natsServer}, redis ${redis ?? "none"}`;
}
