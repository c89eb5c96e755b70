/** The kind and description of a metric. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels?: readonly string[];
  /** For a histogram: the upper bounds of its buckets. */
  readonly buckets?: readonly number[];
}

/** Our own metrics, and those that OpenTelemetry's conventions name. */
export type Metrics = Record<`reprise_${string}` | `gen_ai_${string}`, Metric>;
