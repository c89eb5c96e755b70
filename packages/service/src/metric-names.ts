interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds, in the unit that the name ends with. */
  readonly buckets?: readonly number[];
}

/** From a fast local append to one that waits out a leader's election. */
const APPEND_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 20];
/** From a simulator that answers at once to a model that is loaded from disk first. */
const FIRST_TOKEN_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Every metric of the platform. Labels have few values, all known beforehand: never a tenant, a generation or a reader.
 * `status` is a terminal event's, `outcome` is `stored`, `fenced` or `failed`, `reason` says which check asked for a repair.
 */
export const METRICS = {
  reprise_events_appended_total: { kind: "counter", help: "Events that this process has stored in the log." },
  reprise_append_seconds: {
    kind: "histogram",
    help: "From publishing an event to knowing that it is stored.",
    labels: ["outcome"],
    buckets: APPEND_BUCKETS,
  },
  reprise_generations_running: { kind: "gauge", help: "Generations that this worker runs now." },
  reprise_generations_ended_total: {
    kind: "counter",
    help: "Generations that this process has ended.",
    labels: ["status"],
  },
  reprise_takeovers_total: { kind: "counter", help: "Generations that this worker took over from another." },
  reprise_first_token_seconds: {
    kind: "histogram",
    help: "From the request's creation to its first token in the log.",
    buckets: FIRST_TOKEN_BUCKETS,
  },
  reprise_events_delivered_total: {
    kind: "counter",
    help: "Events written to readers, once for each reader.",
  },
  reprise_readers: { kind: "gauge", help: "Readers that are connected now." },
  reprise_readers_fallen_back_total: {
    kind: "counter",
    help: "Times that a slow reader was left to read the log at its own pace.",
  },
  reprise_repairs_total: {
    kind: "counter",
    help: "Times that the live feed was mended from the log.",
    labels: ["reason"],
  },
  reprise_hub_memory_bytes: { kind: "gauge", help: "Events that delivery keeps in memory." },
  reprise_hub_generations: { kind: "gauge", help: "Generations that delivery keeps in memory." },
} as const satisfies Record<`reprise_${string}`, Metric>;

export type MetricName = keyof typeof METRICS;

/** The names of one kind. */
export type MetricNameOf<Kind extends Metric["kind"]> = {
  [N in MetricName]: (typeof METRICS)[N] extends { kind: Kind } ? N : never;
}[MetricName];

/** The labels of one metric; never for a metric without any. */
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name] extends {
  labels: readonly (infer L extends string)[];
}
  ? L
  : never;
