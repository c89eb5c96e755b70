import { pause } from "@reprise/async";
import { type Broker } from "@reprise/broker";
import { QueueDepths, WorkersWatch } from "@reprise/jobs";
import { toRepriseError } from "@reprise/protocol";
import type { BrokerWatch, Metrics } from "@reprise/runtime";

export interface FleetWatchOptions {
  broker: Broker;
  /** The public names of the models whose queues are told. */
  models: () => ReadonlySet<string>;
  metrics: Metrics;
  /** Tells why the broker takes no appends. Default: readings that fail show that it is away. */
  brokerWatch?: Pick<BrokerWatch, "because"> | undefined;
  onError: (error: unknown) => void;
}

interface Queue {
  /** Jobs that wait for a slot. */
  readonly queued: number;
  /** Milliseconds that the oldest of them has waited; 0 for none. */
  readonly oldestMs: number;
}

const EVERY_MS = 5_000;
/** The pause after a reading is at least this many times as long as the reading took. */
const PAUSES = 10;
/** An older reading is not told. */
const STALE_MS = 30_000;

/** Reads all queues every 5 s and hears the workers. Each node of delivery does so by itself. */
export class FleetWatch implements Disposable {
  readonly #options: FleetWatchOptions;
  readonly #depths: QueueDepths;
  readonly #workers: WorkersWatch;
  readonly #closed = new AbortController();
  /** Jobs that no worker held, by model, as the reading before this one saw them. */
  readonly #unheld = new Map<string, number>();
  #queues: ReadonlyMap<string, Queue> = new Map();
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: FleetWatchOptions) {
    const { broker, metrics, onError } = options;
    this.#options = options;
    this.#depths = new QueueDepths(broker.bulk);
    this.#workers = new WorkersWatch({ connection: broker.main, onError });
    metrics.observeEach("reprise_queue_jobs", () =>
      this.#fresh().map(([model, { queued }]) => [{ model }, queued]),
    );
    metrics.observeEach("reprise_queue_oldest_seconds", () =>
      this.#fresh().map(([model, { oldestMs }]) => [{ model }, oldestMs / 1_000]),
    );
    void this.#run();
  }

  /**
   * Returns the capabilities that each worker of a model announces; undefined for a worker of a version that announces none. Waits in the
   * first seconds of this node until every worker has been heard.
   */
  async capabilitiesOf(model: string): Promise<(readonly string[] | undefined)[]> {
    await this.#workers.untilComplete(this.#closed.signal);
    return this.#workers.capabilitiesOf(model);
  }

  /** Returns the context window that the workers of a model announce; undefined if none does. Waits as `capabilitiesOf` does. */
  async contextTokensOf(model: string): Promise<number | undefined> {
    await this.#workers.untilComplete(this.#closed.signal);
    return this.#workers.contextTokensOf(model);
  }

  [Symbol.dispose](): void {
    this.#closed.abort();
    this.#workers.stop();
  }

  #fresh(): (readonly [string, Queue])[] {
    const isStale = performance.now() - this.#readAtMs > STALE_MS;
    const problems = this.#options.brokerWatch?.because() ?? [];
    if (isStale || problems.length > 0) this.#queues = new Map();
    return [...this.#queues];
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    for (;;) {
      await this.#workers.untilComplete(signal);
      if (signal.aborted) return;
      const beganMs = performance.now();
      await this.#read().catch((thrown: unknown) => {
        this.#queues = new Map();
        const error = toRepriseError(thrown);
        // Another part reports a broker that is away.
        if (!error.retryable && !signal.aborted) this.#options.onError(error);
      });
      await pause(Math.max(EVERY_MS, PAUSES * (performance.now() - beganMs)), signal);
    }
  }

  async #read(): Promise<void> {
    const { models, brokerTimeMs } = await this.#depths.read();
    const read = [...this.#options.models()].map((model) => {
      const { queued = 0, held = 0, oldestAtMs = brokerTimeMs } = models.get(model) ?? {};
      const workers = this.#workers.read(model);
      // Jobs of workers that are gone wait for new ones.
      const waiting = queued + (workers.workers === 0 ? held : this.#givenBack(model, held - workers.held));
      return [model, { queued: waiting, oldestMs: Math.max(0, brokerTimeMs - oldestAtMs) }] as const;
    });
    this.#queues = new Map(read);
    this.#readAtMs = performance.now();
  }

  /** Jobs that were handed out and that no worker has. Workers tell what they hold a little late, so a job counts once two readings in a row show it. */
  #givenBack(model: string, unheld: number): number {
    const earlier = this.#unheld.get(model) ?? 0;
    const now = Math.max(0, unheld);
    this.#unheld.set(model, now);
    return Math.min(earlier, now);
  }
}
