import type { AnalyticsResult } from "../scenarios/analytics/analytics.ts";
import type { ObservedResult } from "../scenarios/analytics/observed.ts";
import { atLeast, atMost, NOISE, type Verdict } from "./claim.ts";

export function judgeAnalytics({ eventsPerCoreSecond, worstErrorPercent }: AnalyticsResult): Verdict[] {
  const worst = Math.max(...Object.values(worstErrorPercent));
  return [
    atLeast("ANALYTICS", "events folded and committed by one core", eventsPerCoreSecond, 100_000, "/s"),
    atMost("ANALYTICS", "worst error of a quantile", worst, 1, "%"),
  ];
}

export function judgeObserved({ rows, rounds }: ObservedResult): Verdict[] {
  const p99Of = (variant: string) => rows.find((row) => row.variant === variant)?.latency.p99 ?? NaN;
  const wrong = rounds.flat().reduce((sum, row) => sum + Math.abs(row.missing) + row.disordered, 0);
  return [
    atMost(
      "OBSERVED",
      "p99 with analytics and tracing, of that without",
      p99Of("on") / p99Of("off"),
      NOISE,
      "x",
    ),
    atMost(
      "OBSERVED",
      "p99 while both are gone, of that without",
      p99Of("killed") / p99Of("off"),
      NOISE,
      "x",
    ),
    atMost("OBSERVED", "tokens lost, repeated or out of order", wrong, 0, ""),
  ];
}
