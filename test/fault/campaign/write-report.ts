import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { dirname } from "node:path";
import { formatPage, formatSum, formatTable, formatViolations } from "./format-table.ts";
import type { RowResult } from "./row-result.ts";

export interface Report {
  /** Of each campaign that it is of, the first trial's. */
  readonly seed: number | readonly number[];
  readonly results: readonly RowResult[];
}

/** Writes the results as JSON, and as a page of Markdown under the same name, with the table of `docs/faults.md`. Returns both paths. */
export async function writeReport(file: string, { seed, results }: Report): Promise<readonly string[]> {
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  const page = file.replace(/(\.json)?$/, ".md");
  await mkdir(dirname(file), { recursive: true });
  await writeFile(
    file,
    `${JSON.stringify({ at: new Date().toISOString(), seed, machine, results }, null, 2)}\n`,
  );
  await writeFile(
    page,
    toPage({ seed, results }, `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`),
  );
  return [file, page];
}

function toPage({ seed, results }: Report, machine: string): string {
  const proofs = results.map(({ row, proof }) => `* \`${row}\`: the fault hits where ${proof}.`).join("\n");
  const violations = formatViolations(results) || "No violations.";
  const parts = [formatSum(results), formatPage(results), formatTable(results), proofs, violations];
  return `Seed ${[seed].flat().join(", ")}; ${machine}.\n\n${parts.join("\n\n")}\n`;
}
