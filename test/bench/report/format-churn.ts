import { type ChurnResult, servicesCpu } from "../scenarios/churn.ts";
import { atMost, type Verdict } from "./claim.ts";
import { byRole, formatTable } from "./table.ts";

export function formatChurn({ atOnce, tokens, rows, rounds }: ChurnResult): string {
  const cells = rows.map((row) => [
    row.audit ? "on" : "off",
    row.generationsPerSecond.toFixed(0),
    row.whole.p50.toFixed(0),
    row.whole.p99.toFixed(0),
    String(wrongOf(rounds, row.audit)),
    (servicesCpu(row) / 1e3).toFixed(2),
    byRole(row.cpuPerGeneration),
  ]);
  const title = `CHURN: generations of ${tokens} tokens, created, streamed and ended, ${atOnce} at once, least CPU of ${rounds.length}`;
  const header = [
    "audit log",
    "per second",
    "p50 ms",
    "p99 ms",
    "wrong",
    "CPU ms each, services",
    "CPU µs by process",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}

export function judgeChurn({ scenario, rows, rounds }: ChurnResult): Verdict[] {
  return rows.flatMap((row) => {
    const beside = row.audit ? "with the audit log" : "without it";
    return [
      atMost(
        scenario,
        `services' CPU per generation, ${beside}`,
        servicesCpu(row) / 1e3,
        row.audit ? 2.5 : 2,
        "ms",
      ),
      atMost(scenario, `generations not streamed whole, ${beside}`, wrongOf(rounds, row.audit), 0, ""),
    ];
  });
}

function wrongOf(rounds: ChurnResult["rounds"], audit: boolean): number {
  return rounds
    .flat()
    .filter((row) => row.audit === audit)
    .reduce((sum, { wrong }) => sum + wrong, 0);
}
