import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type LabelValues,
  type Metric as PromMetric,
  Registry,
} from "prom-client";
import manifest from "../../package.json" with { type: "json" };
import { Distribution, type Observer } from "./distribution.ts";
import { type LabelOf, type MetricName, type MetricNameOf, METRICS } from "./metric-names.ts";

/** One process's metrics. Asking for the same name again gives the same metric, so services in one process share them. */
export interface Metrics {
  counter<Name extends MetricNameOf<"counter">>(name: Name): Counter<LabelOf<Name>>;
  gauge<Name extends MetricNameOf<"gauge">>(name: Name): Gauge<LabelOf<Name>>;
  histogram(name: MetricNameOf<"histogram">): Histogram;
  /**
   * Returns the observer of a histogram for one set of labels: for paths on which a look-up of labels costs too much. A name is used here or with `histogram`,
   * not with both.
   */
  observer<Name extends MetricNameOf<"histogram">>(
    name: Name,
    ...labels: [LabelOf<Name>] extends [never] ? [] : [Readonly<Record<LabelOf<Name>, string>>]
  ): Observer;
  /**
   * A gauge or counter without labels whose value is asked for at each scrape, which costs nothing between two of them. What
   * `read` returns for a counter must never fall.
   */
  observe(name: MetricNameOf<"gauge"> | UnlabelledCounter, read: () => number): void;
  /**
   * A gauge with labels whose values are asked for at each scrape. It may be given several times, as by services that share a process: each
   * gives values of its own.
   */
  observeEach<Name extends MetricNameOf<"gauge">>(
    name: Name,
    read: () => Iterable<LabelledValue<Name>>,
  ): void;
  /** Prometheus' text format. */
  render(): Promise<string>;
  readonly contentType: string;
}

export interface MetricsOptions {
  /** Adds what Node says of itself: CPU, memory, garbage collection, event loop lag. Default true. */
  processMetrics?: boolean;
}

/** Gauges of prom-client that are named like counters, which Prometheus's own check refuses. The same by type of resource stay. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

export function createMetrics({ processMetrics = true }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }

  function once<M extends PromMetric>(name: MetricName, create: (settings: Settings) => M): M {
    const { help, ...rest } = METRICS[name];
    const labelNames = "labels" in rest ? [...rest.labels] : [];
    return (
      (registry.getSingleMetric(name) as M | undefined) ??
      create({ name, help, labelNames, registers: [registry] })
    );
  }

  const sources = new Map<MetricName, (() => Iterable<readonly [LabelValues<string>, number]>)[]>();
  const metrics: Metrics = {
    counter: (name) => once(name, (settings) => new Counter(settings)),
    gauge: (name) => once(name, (settings) => new Gauge(settings)),
    histogram: (name) =>
      once(name, (settings) => new Histogram({ ...settings, buckets: [...METRICS[name].buckets] })),
    observer(name, ...[labels]) {
      const found = registry.getSingleMetric(name) as unknown as Distribution | undefined;
      const distribution = found ?? new Distribution({ name, ...METRICS[name] });
      if (!found) registry.registerMetric(distribution as unknown as PromMetric);
      return distribution.of(labels ?? {});
    },
    observe(name, read) {
      if (METRICS[name].kind === "gauge") once(name, (settings) => observedGauge(settings, read));
      else once(name, (settings) => observedCounter(settings, read));
    },
    observeEach(name, read) {
      const found = sources.get(name);
      if (found) return void found.push(read);
      const reads: (() => Iterable<readonly [LabelValues<string>, number]>)[] = [read];
      sources.set(name, reads);
      once(name, (settings) => labelledGauge(settings, reads));
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
  if (processMetrics)
    metrics.gauge("reprise_build_info").set({ version: manifest.version, node: process.versions.node }, 1);
  return metrics;
}

/** One series of a gauge: its labels, and what it is now. */
export type LabelledValue<Name extends MetricName> = readonly [
  Readonly<Record<LabelOf<Name>, string>>,
  number,
];

/** Without labels, so that one number is all there is to tell. */
type UnlabelledCounter = {
  [N in MetricNameOf<"counter">]: [LabelOf<N>] extends [never] ? N : never;
}[MetricNameOf<"counter">];

function observedGauge(settings: Settings, read: () => number): Gauge {
  return new Gauge({
    ...settings,
    collect() {
      this.set(read());
    },
  });
}

function observedCounter(settings: Settings, read: () => number): Counter {
  return new Counter({
    ...settings,
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

function labelledGauge(
  settings: Settings,
  reads: readonly (() => Iterable<readonly [LabelValues<string>, number]>)[],
): Gauge {
  return new Gauge({
    ...settings,
    collect() {
      this.reset();
      for (const read of reads) for (const [labels, value] of read()) this.set(labels, value);
    },
  });
}

interface Settings {
  name: MetricName;
  help: string;
  labelNames: string[];
  registers: Registry[];
}

/** The label of all tenants beyond the bound. A tenant of this name is counted there too. */
export const OTHER_TENANTS = "other";

/**
 * Which tenants have series of their own: the first ones, for as long as the process lives. A series per tenant, of any number of tenants, would make every scrape slower. What is under
 * `other` shows that the bound is reached.
 */
export class TenantLabels {
  readonly #maxTenants: number;
  readonly #named = new Set<string>();

  constructor(maxTenants: number) {
    this.#maxTenants = maxTenants;
  }

  of(tenant: string): string {
    if (this.#named.has(tenant)) return tenant;
    if (tenant === OTHER_TENANTS || this.#named.size >= this.#maxTenants) return OTHER_TENANTS;
    this.#named.add(tenant);
    return tenant;
  }
}
