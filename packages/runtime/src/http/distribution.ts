/** Where observations of one set of labels go. */
export interface Observer {
  observe(value: number): void;
}

/** A sample of a registry at a scrape. */
interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Counts in fixed buckets: an observation is a search over few numbers and three additions, without a look-up of labels. */
class Buckets implements Observer {
  readonly labels: Readonly<Record<string, string>>;
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[], labels: Readonly<Record<string, string>>) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
    this.labels = labels;
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    this.#counts[at]!++;
    this.#sum += value;
  }

  samplesOf(name: string): Sample[] {
    const { labels } = this;
    let count = 0;
    const buckets = [...this.#bounds, "+Inf"].map((le, at) => {
      count += this.#counts[at]!;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

/**
 * A histogram for hot paths. prom-client's own hashes its labels and makes objects for each observation; this one gives an observer for
 * each set of labels, which is kept by its caller. A registry takes it like one of its own.
 */
export class Distribution {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly #bounds: readonly number[];
  readonly #children = new Map<string, Buckets>();

  constructor({ name, help, buckets }: { name: string; help: string; buckets: readonly number[] }) {
    this.name = name;
    this.help = help;
    this.#bounds = buckets;
  }

  /** The observer of one set of labels, the same for the same values. */
  of(labels: Readonly<Record<string, string>>): Observer {
    const key = JSON.stringify(labels);
    let child = this.#children.get(key);
    if (!child) this.#children.set(key, (child = new Buckets(this.#bounds, labels)));
    return child;
  }

  async get() {
    const { name, help, type, aggregator } = this;
    const values = [...this.#children.values()].flatMap((child) => child.samplesOf(name));
    return { name, help, type, aggregator, values };
  }

  reset(): void {
    this.#children.clear();
  }
}
