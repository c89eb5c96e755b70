import { pause } from "@reprise/async";
import { type Broker, NodeExchange, QueueDepths, WorkersWatch } from "@reprise/log";
import { type NodeId, RepriseError, toRepriseError } from "@reprise/protocol";
import type { BrokerWatch, Metrics } from "@reprise/service";
import { CpuMeter } from "./cpu-meter.ts";
import { GivenBackJobs } from "./given-back-jobs.ts";
import {
  NO_SCALE_STATE,
  planScale,
  SCALE_DEFAULTS,
  type ScaleObservation,
  type ScalePlan,
  type ScaleSettings,
} from "./plan-scale.ts";

export interface ScaleWatchOptions {
  broker: Broker;
  node: NodeId;
  /** Of this node. */
  readers: { readonly streams: number };
  /** The public names of the models that are planned for. */
  models: () => ReadonlySet<string>;
  metrics: Metrics;
  /** Tells why the broker takes no appends. Default: readings that fail show that it is away. */
  brokerWatch?: Pick<BrokerWatch, "because"> | undefined;
  /** Default: `SCALE_DEFAULTS`. */
  scaling?: ScaleSettings | undefined;
  onError: (error: unknown) => void;
}

/** What was observed at a moment, and what followed. */
export interface ScaleReport {
  readonly at: Date;
  readonly observation: ScaleObservation;
  readonly plan: ScalePlan;
}

const EVERY_MS = 5_000;
/** A reading that takes long is made more rarely: this many times as long is the pause behind it, at least. */
const PAUSES = 10;
/** The first plan is due when every worker has been heard. */
const FIRST_MS = 250;
/** A report that is older says nothing. */
const STALE_MS = 30_000;
const WAIT_MS = 5_000;

/**
 * Observes all queues, workers and nodes every 5 s, and plans how many there should be. Each node of delivery does it by itself and comes to about the same
 * plan, for all of them observe the same.
 */
export class ScaleWatch implements Disposable {
  readonly #options: ScaleWatchOptions;
  readonly #depths: QueueDepths;
  readonly #workers: WorkersWatch;
  readonly #nodes: NodeExchange;
  readonly #givenBack = new GivenBackJobs();
  readonly #closed = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #state = NO_SCALE_STATE;
  #report: ScaleReport | undefined;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ScaleWatchOptions) {
    const { broker, node, readers, metrics, onError } = options;
    const cpu = new CpuMeter();
    this.#options = options;
    this.#depths = new QueueDepths(broker.bulk);
    this.#workers = new WorkersWatch({ connection: broker.main, onError });
    const load = () => ({ readers: readers.streams, cpu: cpu.read() });
    this.#nodes = new NodeExchange({ connection: broker.main, node, load, onError });
    const seen = () => [...(this.#fresh?.observation.models ?? [])];
    metrics.observeEach("reprise_queue_jobs", () => seen().map(([model, { queued }]) => [{ model }, queued]));
    metrics.observeEach("reprise_queue_oldest_seconds", () =>
      seen().map(([model, { oldestMs }]) => [{ model }, oldestMs / 1_000]),
    );
    metrics.observeEach("reprise_wanted_workers", () =>
      [...(this.#fresh?.plan.models ?? [])].map(([model, plan]) => [{ model }, plan.wantedWorkers] as const),
    );
    metrics.observe(
      "reprise_wanted_delivery_nodes",
      () => this.#fresh?.plan.delivery.wantedNodes ?? Number.NaN,
    );
    void this.#run();
  }

  /**
   * The last plan. Waits for the first one, which is made some seconds behind the start.
   * @throws RepriseError `broker_unavailable` when there is none, when it is older than 30 s, and while the broker is away: what was observed before says nothing of now
   */
  async report(): Promise<ScaleReport> {
    if (!this.#report) await Promise.race([this.#first.promise, pause(WAIT_MS, this.#closed.signal)]);
    if (this.#fresh) return this.#fresh;
    throw new RepriseError("broker_unavailable", "The queues and the workers are not known now.", {
      retryAfterMs: EVERY_MS,
    });
  }

  /**
   * What the engine of each worker of a model can do, by the worker's own word; undefined for one of a version that does not tell. In the
   * first seconds of this node it waits until every worker has been heard.
   */
  async capabilitiesOf(model: string): Promise<(readonly string[] | undefined)[]> {
    await this.#workers.untilComplete(this.#closed.signal);
    return this.#workers.capabilitiesOf(model);
  }

  /** How many tokens a model takes, by the word of its workers; undefined where none says it. Waits as `capabilitiesOf` does. */
  async contextTokensOf(model: string): Promise<number | undefined> {
    await this.#workers.untilComplete(this.#closed.signal);
    return this.#workers.contextTokensOf(model);
  }

  [Symbol.dispose](): void {
    this.#closed.abort();
    this.#workers.stop();
    this.#nodes.stop();
  }

  get #fresh(): ScaleReport | undefined {
    const isStale = performance.now() - this.#reportedAtMs > STALE_MS;
    const problems = this.#options.brokerWatch?.because() ?? [];
    if (isStale || problems.length > 0) this.#report = undefined;
    return this.#report;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    const { onError } = this.#options;
    while (!signal.aborted) {
      const beganMs = performance.now();
      await this.#plan().catch((thrown: unknown) => {
        this.#report = undefined;
        const error = toRepriseError(thrown);
        // A broker that is away is told of elsewhere.
        if (!error.retryable && !signal.aborted) onError(error);
      });
      const tookMs = performance.now() - beganMs;
      await pause(this.#workers.isComplete ? Math.max(EVERY_MS, PAUSES * tookMs) : FIRST_MS, signal);
    }
  }

  async #plan(): Promise<void> {
    if (!this.#workers.isComplete) return;
    const observation = await this.#observe();
    const settings = this.#options.scaling ?? SCALE_DEFAULTS;
    const { state, plan } = planScale(this.#state, observation, performance.now(), settings);
    this.#state = state;
    this.#report = { at: new Date(), observation, plan };
    this.#reportedAtMs = performance.now();
    this.#first.resolve();
  }

  async #observe(): Promise<ScaleObservation> {
    const { models, brokerTimeMs } = await this.#depths.read();
    const observed = [...this.#options.models()].map((model) => {
      const { queued = 0, held = 0, oldestAtMs = brokerTimeMs } = models.get(model) ?? {};
      const workers = this.#workers.read(model);
      const givenBack = this.#givenBack.read(model, held, workers.held);
      return [
        model,
        {
          ...workers,
          // Jobs of workers that are gone wait for new ones.
          queued: queued + (workers.workers === 0 ? held : givenBack),
          oldestMs: Math.max(0, brokerTimeMs - oldestAtMs),
        },
      ] as const;
    });
    return { models: new Map(observed), delivery: this.#nodes.read() };
  }
}
