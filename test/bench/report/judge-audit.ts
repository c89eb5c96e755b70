import type { ArchiveResult } from "../scenarios/audit/archive.ts";
import type { AuditResult } from "../scenarios/audit/audit.ts";
import { atLeast, atMost, NOISE, type Verdict } from "./claim.ts";

export function judgeAudit({ scenario, rows, rounds }: AuditResult): Verdict[] {
  const [off, on] = [rows.find(({ audit }) => !audit), rows.find(({ audit }) => audit)];
  if (!off || !on?.archived) return [];
  const wrong = rounds
    .flat()
    .reduce((sum, { missing, disordered }) => sum + Math.abs(missing) + disordered, 0);
  const ratio = on.latency.p99 / off.latency.p99;
  return [
    atMost(scenario, "p99 with the audit log, of that without it", ratio, NOISE, "x"),
    atMost(scenario, "until an event is archived, p99", on.archived.lagMs.p99 / 1_000, 10, "s"),
    atMost(scenario, "archived, per event", on.archived.bytesPerEvent, 12, "bytes"),
    atMost(scenario, "tokens lost or repeated", wrong, 0, ""),
  ];
}

export function judgeArchive(result: ArchiveResult): Verdict[] {
  const { scenario, archivedPerSecond, bytesPerEvent, verifiedPerSecond, replayStartMs } = result;
  return [
    atLeast(scenario, "events archived by one process", archivedPerSecond, 50_000, "/s"),
    atMost(scenario, "archived, per event", bytesPerEvent, 12, "bytes"),
    atLeast(scenario, "events verified", verifiedPerSecond, 80_000, "/s"),
    atMost(scenario, "until a replay begins, p99", replayStartMs.p99, 50, "ms"),
  ];
}
