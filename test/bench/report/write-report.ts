import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MachineFacts } from "../measure/machine.ts";
import type { BenchOptions } from "../options.ts";
import type { ScenarioResult } from "../scenarios/all.ts";
import type { Verdict } from "./claim.ts";

export interface Report {
  readonly startedAt: string;
  readonly machine: MachineFacts;
  readonly options: BenchOptions;
  /** Why targets that were asked for did not run. */
  readonly notes: readonly string[];
  readonly results: readonly ScenarioResult[];
  readonly verdicts: readonly Verdict[];
}

/** Writes the results for programs. Returns the path; by default a new file in the data folder's `bench`. */
export async function writeReport(
  report: Report,
  { out, dataDir }: { out: string | undefined; dataDir: string },
): Promise<string> {
  const path = out ?? join(dataDir, "bench", `${report.startedAt.replaceAll(":", "-")}.json`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`);
  return path;
}
