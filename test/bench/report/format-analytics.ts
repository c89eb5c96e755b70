import type { AnalyticsResult } from "../scenarios/analytics/analytics.ts";
import type { ObservedResult } from "../scenarios/analytics/observed.ts";
import { byRole, formatTable, ms } from "./table.ts";

export function formatAnalytics(result: AnalyticsResult): string {
  const { events, generations, cores, bytesPerRow, worstErrorPercent } = result;
  const rate = (perSecond: number) => Math.round(perSecond).toLocaleString("en");
  const errors = Object.entries(worstErrorPercent).map(([name, error]) => `${name} ${error.toFixed(2)} %`);
  return [
    `ANALYTICS: ${rate(events)} events of ${rate(generations)} generations, from the broker into committed rows: ${rate(result.eventsPerSecond)} events/s with ${cores.toFixed(2)} cores, ${rate(result.eventsPerCoreSecond)} a core; ${bytesPerRow.toFixed(0)} bytes a row`,
    `  from memory into folds: ${rate(result.foldsPerSecond)} events/s; from files into a summary: ${rate(result.rowsPerSecond)} rows/s`,
    `  worst error of a sketch's quantiles: ${errors.join(", ")}`,
  ].join("\n");
}

export function formatObserved({ shape, rows, rounds }: ObservedResult): string {
  const { streams, tokensPerSecond, readersPerStream } = shape;
  const cells = rows.map(({ variant, latency, cpuPerToken, spans }) => {
    const own = rounds.flat().filter((row) => row.variant === variant);
    return [
      variant,
      ...[latency.p50, latency.p90, latency.p99, latency.max].map(ms),
      own.map((row) => ms(row.latency.p99)).join(" "),
      String(own.reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0)),
      byRole(cpuPerToken),
      String(spans),
    ];
  });
  const title = `OBSERVED: ${streams} streams x ${tokensPerSecond} tokens/s x ${readersPerStream} readers: ms from due time to reader, best of ${rounds.length}`;
  const header = [
    "analytics and tracing",
    "p50",
    "p90",
    "p99",
    "max",
    "p99 of the rounds",
    "wrong",
    "CPU µs/token by process",
    "spans",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}
