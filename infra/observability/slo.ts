import { type InputSeries, type Stretch, counterSeries } from "./input-series.ts";

/*
 * The one source of recording rules, burn-rate alerts, their unit tests and their list of runbooks.
 */

/** Which share of events is good: of counters, or of the buckets of a histogram. */
export interface RatioSignal {
  readonly kind: "ratio";
  /** Growth of what was bad, and of everything, over a range such as `5m`. */
  readonly bad: (range: string) => string;
  readonly total: (range: string) => string;
  /** Series with this many bad events among this many, for unit tests. */
  readonly example: (stretches: readonly { bad: Stretch; good: Stretch }[]) => InputSeries[];
}

/** Which share of time a level is good. */
export interface LevelSignal {
  readonly kind: "level";
  /** Has one value each time the rules are evaluated; may keep labels, each set of which is an objective of its own. */
  readonly level: string;
  /** Above it the level is bad. */
  readonly limit: number;
  /** For unit tests: the series whose values become the level. */
  readonly exampleSeries: string;
}

export interface Slo {
  /** The label `slo`. */
  readonly name: string;
  readonly alert: string;
  /** The promise to users, in words. */
  readonly objective: string;
  /** The meaning of the alert. */
  readonly summary: string;
  /** The share that has to be good. */
  readonly target: number;
  /** Fewer events than this in an alert's long window prove nothing: no alert. Of a level: evaluations. */
  readonly minEvents: number;
  /** No burn of it wakes a person: all its alerts are tickets. */
  readonly isTicket?: boolean;
  readonly signal: RatioSignal | LevelSignal;
}

/** Faults that operators answer for. A tenant's budget and a client's cancel are not among them. */
const OURS = `fault=~"platform|engine"`;

export const SLOS: readonly Slo[] = [
  firstToken({ percentile: "p95", share: 0.95, withinS: 1 }),
  firstToken({ percentile: "p99", share: 0.99, withinS: 3 }),
  {
    name: "completion",
    alert: "RepriseCompletion",
    objective: "99.5 % of generations that were not cancelled complete.",
    summary: "Generations fail or are ended by the reaper.",
    target: 0.995,
    minEvents: 100,
    signal: {
      kind: "ratio",
      bad: (range) =>
        sumOf([
          `increase(reprise_generations_ended_total{${OURS}}[${range}])`,
          `increase(reprise_generations_reaped_total{${OURS}}[${range}])`,
        ]),
      total: (range) =>
        sumOf([
          `increase(reprise_generations_ended_total{fault=~"none|platform|engine"}[${range}])`,
          `increase(reprise_generations_reaped_total{${OURS}}[${range}])`,
        ]),
      example: (stretches) => [
        counterSeries(
          `reprise_generations_ended_total{status="failed",fault="engine"}`,
          stretches.map(({ bad }) => bad),
        ),
        counterSeries(
          `reprise_generations_ended_total{status="completed",fault="none"}`,
          stretches.map(({ good }) => good),
        ),
      ],
    },
  },
  {
    name: "resume",
    alert: "RepriseResume",
    objective: "99.5 % of reads from a cursor are answered.",
    summary: "Readers that come back can't continue where they were.",
    target: 0.995,
    minEvents: 100,
    signal: {
      kind: "ratio",
      bad: (range) => sumOf([`increase(reprise_resumes_total{result="gone"}[${range}])`]),
      total: (range) => sumOf([`increase(reprise_resumes_total[${range}])`]),
      example: (stretches) => [
        counterSeries(
          `reprise_resumes_total{result="gone"}`,
          stretches.map(({ bad }) => bad),
        ),
        counterSeries(
          `reprise_resumes_total{result="resumed"}`,
          stretches.map(({ good }) => good),
        ),
      ],
    },
  },
  {
    name: "budget",
    alert: "RepriseBudgetExhausted",
    objective: "99 % of creates find their tenant's budget sufficient, to their generation's end.",
    summary: "Creates are refused, or generations cut off, because tenants have used up their budgets.",
    target: 0.99,
    minEvents: 100,
    isTicket: true,
    signal: {
      kind: "ratio",
      bad: (range) =>
        sumOf([
          `increase(reprise_budget_refusals_total{reason="exceeded"}[${range}])`,
          `increase(reprise_budget_cut_offs_total[${range}])`,
        ]),
      total: (range) =>
        sumOf([
          `increase(reprise_budget_refusals_total{reason="exceeded"}[${range}])`,
          `increase(reprise_generations_created_total[${range}])`,
        ]),
      example: (stretches) => [
        counterSeries(
          `reprise_budget_refusals_total{tenant="acme",reason="exceeded"}`,
          stretches.map(({ bad }) => bad),
        ),
        counterSeries(
          `reprise_generations_created_total{model="sim"}`,
          stretches.map(({ good }) => good),
        ),
      ],
    },
  },
  {
    name: "consumer-lag",
    alert: "RepriseConsumerLag",
    objective:
      "99.9 % of the time, moderation and analytics have dealt with what they have read within 30 s.",
    summary: "Moderation or analytics does not get ahead with what it reads.",
    target: 0.999,
    minEvents: 10,
    signal: {
      kind: "level",
      level: "max by (consumer) (reprise_consumer_lag_seconds)",
      limit: 30,
      exampleSeries: `reprise_consumer_lag_seconds{consumer="moderation"}`,
    },
  },
  {
    name: "archive-lag",
    alert: "RepriseArchiveLag",
    objective: "99 % of the time, the oldest event that the audit log has read is archived within 60 s.",
    summary: "The audit log does not archive what it reads.",
    target: 0.99,
    minEvents: 10,
    signal: {
      kind: "level",
      level: "max(reprise_audit_lag_seconds)",
      limit: 60,
      exampleSeries: "reprise_audit_lag_seconds",
    },
  },
];

/** An objective of a percentile. @param withinS an upper bound of the histogram's buckets, in whole seconds */
function firstToken({
  percentile,
  share,
  withinS,
}: {
  percentile: "p95" | "p99";
  share: number;
  withinS: number;
}): Slo {
  // prom-client writes `1`, and Prometheus 3 stores `1.0`.
  const withinLimit = `reprise_first_event_seconds_bucket{le=~"${withinS}|${withinS}[.]0"}`;
  const all = (range: string) => sumOf([`increase(reprise_first_event_seconds_count[${range}])`]);
  return {
    name: `first-token-${percentile}`,
    alert: `RepriseFirstToken${percentile.toUpperCase()}`,
    objective: `${Number((100 * share).toPrecision(6))} % of readers that wait for a generation's first output event get it within ${withinS} s.`,
    summary: "Readers wait too long for the first token.",
    target: share,
    minEvents: 100,
    signal: {
      kind: "ratio",
      bad: (range) => `${all(range)} - ${sumOf([`increase(${withinLimit}[${range}])`])}`,
      total: all,
      example: (stretches) => [
        counterSeries(
          `reprise_first_event_seconds_count{call="create"}`,
          stretches.map(({ bad, good }) => ({ steps: bad.steps, perStep: bad.perStep + good.perStep })),
        ),
        counterSeries(
          `reprise_first_event_seconds_bucket{call="create",le="${withinS}.0"}`,
          stretches.map(({ good }) => good),
        ),
      ],
    },
  };
}

/** The sum over all series of each term, where a term without any series is 0. */
function sumOf(terms: readonly string[]): string {
  return terms.map((term) => `(sum(${term}) or vector(0))`).join(" + ");
}
