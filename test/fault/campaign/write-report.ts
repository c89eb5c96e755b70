import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { dirname } from "node:path";
import { formatTable, formatViolations } from "./format-table.ts";
import type { RowResult } from "./row-result.ts";

/** Writes the results as JSON, and as a page of Markdown under the same name. Returns both paths. */
export async function writeReport(
  file: string,
  { seed, results }: { readonly seed: number; readonly results: readonly RowResult[] },
): Promise<readonly string[]> {
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
    toPage(seed, results, `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`),
  );
  return [file, page];
}

function toPage(seed: number, results: readonly RowResult[], machine: string): string {
  const rows = results
    .map(({ row, about, proof }) => `* \`${row}\`: ${about}. The fault hits where ${proof}.`)
    .join("\n");
  const violations = formatViolations(results) || "No violations.";
  return `Seed ${seed}; ${machine}.\n\n${formatTable(results)}\n\n${rows}\n\n${violations}\n`;
}
