import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type Metric as PromMetric,
  Registry,
} from "prom-client";
import { type LabelOf, type MetricName, type MetricNameOf, METRICS } from "./metric-names.ts";

/** One process's metrics. Asking for the same name again gives the same metric, so services in one process share them. */
export interface Metrics {
  counter<Name extends MetricNameOf<"counter">>(name: Name): Counter<LabelOf<Name>>;
  gauge<Name extends MetricNameOf<"gauge">>(name: Name): Gauge<LabelOf<Name>>;
  histogram<Name extends MetricNameOf<"histogram">>(name: Name): Histogram<LabelOf<Name>>;
  /** A gauge whose value is asked for at each scrape, which costs nothing between two of them. */
  observe(name: MetricNameOf<"gauge">, read: () => number): void;
  /** Prometheus' text format. */
  render(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsOptions {
  /** Adds what Node says of itself: CPU, memory, garbage collection, event loop lag. Default true. */
  processMetrics?: boolean;
}

export function createMetrics({ processMetrics = true }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });

  function once<M extends PromMetric>(name: MetricName, create: (settings: Settings) => M): M {
    const { help, ...rest } = METRICS[name];
    const labelNames = "labels" in rest ? [...rest.labels] : [];
    return (
      (registry.getSingleMetric(name) as M | undefined) ??
      create({ name, help, labelNames, registers: [registry] })
    );
  }

  return {
    counter: (name) => once(name, (settings) => new Counter(settings)),
    gauge: (name) => once(name, (settings) => new Gauge(settings)),
    histogram: (name) =>
      once(name, (settings) => new Histogram({ ...settings, buckets: [...METRICS[name].buckets] })),
    observe(name, read) {
      once(
        name,
        (settings) =>
          new Gauge({
            ...settings,
            collect: function () {
              this.set(read());
            },
          }),
      );
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

interface Settings {
  name: MetricName;
  help: string;
  labelNames: string[];
  registers: Registry[];
}
