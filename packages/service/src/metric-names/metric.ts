/** What a metric is called when it is exposed, and how. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels?: readonly string[];
  /** Of a histogram: the upper bounds of its buckets. */
  readonly buckets?: readonly number[];
}

/** Of our own metrics, and of those that OpenTelemetry's conventions name. */
export type Metrics = Record<`reprise_${string}` | `gen_ai_${string}`, Metric>;
