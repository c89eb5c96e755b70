import type { LimitsResult } from "../../scenarios/tenants/limits.ts";
import { atMost, type Verdict } from "../claim.ts";
import { formatTable, ms } from "../table.ts";

export function formatLimits({ rows, calls, atOnce }: LimitsResult): string {
  const cells = rows.map(({ scopes, checks, alone, together, roundTrips }) => [
    scopes,
    String(checks),
    ...[alone.p50, alone.p99, together.p50, together.p99].map((each) => ms(each * 1_000)),
    roundTrips.toFixed(2),
  ]);
  const title = `LIMITS: ${calls} checks of a call's limits in Redis on loopback, one after the other and ${atOnce} at once: ms`;
  return `${title}\n${formatTable(["", "limits", "p50", "p99", `${atOnce} at once p50`, "p99", "round trips"], cells)}`;
}

const MOST_MS = 0.3;

export function judgeLimits({ rows }: LimitsResult): Verdict[] {
  return rows.flatMap(({ scopes, alone, roundTrips }) => [
    atMost("LIMITS", `${scopes}: a check, p50`, alone.p50, MOST_MS, "ms"),
    atMost("LIMITS", `${scopes}: round trips`, roundTrips, 1, ""),
  ]);
}
