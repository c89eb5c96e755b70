import type { ArchiveResult } from "../scenarios/audit/archive.ts";
import type { AuditResult } from "../scenarios/audit/audit.ts";
import { byRole, formatTable, ms } from "./table.ts";

export function formatAudit({ shape, rows, rounds }: AuditResult): string {
  const { streams, tokensPerSecond, readersPerStream } = shape;
  const cells = rows.map(({ audit, latency, cpuPerToken, clientLoad, archived }) => {
    const own = rounds.flat().filter((row) => row.audit === audit);
    return [
      audit ? "on" : "off",
      ...[latency.p50, latency.p90, latency.p99, latency.max].map(ms),
      own.map((row) => ms(row.latency.p99)).join(" "),
      String(own.reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0)),
      byRole(cpuPerToken),
      clientLoad.toFixed(2),
      archived ? `${archived.lagMs.p50.toFixed(0)} / ${archived.lagMs.p99.toFixed(0)}` : "",
      archived ? archived.bytesPerEvent.toFixed(2) : "",
    ];
  });
  const title = `AUDIT: ${streams} streams x ${tokensPerSecond} tokens/s x ${readersPerStream} readers: ms from due time to reader, best of ${rounds.length}`;
  const header = [
    "audit log",
    "p50",
    "p90",
    "p99",
    "max",
    "p99 of the rounds",
    "wrong",
    "CPU µs/token by process",
    "client",
    "lag ms, p50 / p99",
    "bytes/event",
  ];
  return `${title}\n${formatTable(header, cells)}`;
}

export function formatArchive(result: ArchiveResult): string {
  const { events, generations, tenants, archivedPerSecond, cores, bytesPerEvent } = result;
  const { verifiedPerSecond, replayStartMs } = result;
  const rate = (perSecond: number) => Math.round(perSecond).toLocaleString("en");
  const { p50, p99, max } = replayStartMs;
  return [
    `ARCHIVE: ${rate(events)} events of ${generations} generations of ${tenants} tenants`,
    `  archived ${rate(archivedPerSecond)} events/s on ${cores.toFixed(2)} cores, ${bytesPerEvent.toFixed(2)} bytes each`,
    `  verified ${rate(verifiedPerSecond)} events/s, every segment opened`,
    `  a replay begins after ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)}`,
  ].join("\n");
}
