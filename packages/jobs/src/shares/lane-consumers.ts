import { AckPolicy, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import {
  DEFAULT_PRIORITY,
  jobLane,
  JOBS_STREAM,
  laneKey,
  type LaneName,
  wholeQueueConsumer,
} from "@reprise/protocol";
import { isRefusal } from "@reprise/broker";

/** After so long without a pull the broker removes a lane's consumer. Its jobs stay, and with unacknowledged ones it waits for their ack wait too. */
const INACTIVE_MS = 300_000;
const MS = 1_000_000;

export interface LaneConsumersOptions {
  connection: NatsConnection;
  model: string;
  ackWaitMs: number;
}

/**
 * The durable consumers of a model's lanes, which all workers of the model share: made by the first one that pulls from a lane, or brought in line,
 * so that the last worker to pull from it says how long one may be silent.
 */
export class LaneConsumers {
  readonly #options: LaneConsumersOptions;
  readonly #open = new Set<string>();
  #manager: Promise<JetStreamManager> | undefined;

  constructor(options: LaneConsumersOptions) {
    this.#options = options;
  }

  isOpen(lane: LaneName): boolean {
    return this.#open.has(laneKey(lane));
  }

  /** The broker does not know the consumer any more. */
  close(lane: LaneName): void {
    this.#open.delete(laneKey(lane));
  }

  /** @throws what the broker refuses it with */
  async open(lane: LaneName): Promise<void> {
    await this.#ensure(lane).catch(async (error: unknown) => {
      if (!isRefusal(error, "consumerNotUnique")) throw error;
      await this.#removeWholeQueue();
      await this.#narrow(lane);
      await this.#ensure(lane);
    });
    this.#open.add(laneKey(lane));
  }

  async #ensure(lane: LaneName): Promise<void> {
    const { consumer, config } = this.#configOf(lane);
    const { consumers } = await this.#jetstream();
    await consumers
      .add(JOBS_STREAM, { ...config, durable_name: consumer, ack_policy: AckPolicy.Explicit })
      .catch((error: unknown) => {
        if (isRefusal(error, "consumerExists")) return consumers.update(JOBS_STREAM, consumer, config);
        throw error;
      });
  }

  /** The lanes of workers that know no priorities select all jobs of their tenant, and no lane of a priority can be made beside one. */
  async #narrow({ tenant }: LaneName): Promise<void> {
    const { consumer, config } = this.#configOf({ tenant, priority: DEFAULT_PRIORITY });
    const { consumers } = await this.#jetstream();
    await consumers.update(JOBS_STREAM, consumer, config).catch((error: unknown) => {
      if (!isRefusal(error, "consumerNotFound")) throw error;
    });
  }

  #configOf(lane: LaneName) {
    const { model, ackWaitMs } = this.#options;
    const { filter, consumer } = jobLane(model, lane);
    const config = {
      filter_subject: filter,
      ack_wait: ackWaitMs * MS,
      inactive_threshold: INACTIVE_MS * MS,
      max_ack_pending: 100_000,
      max_waiting: 10_000,
      max_deliver: -1,
    };
    return { consumer, config };
  }

  /**
   * Workers that know no lanes have one consumer for all. Without it they are handed no more jobs, and finish those that they have. Such a
   * job comes here too, and is left alone while its worker answers that it has it; once it is done it comes a last time.
   */
  async #removeWholeQueue(): Promise<void> {
    const { consumers } = await this.#jetstream();
    const { model } = this.#options;
    await consumers.delete(JOBS_STREAM, wholeQueueConsumer(model)).catch((error: unknown) => {
      if (!isRefusal(error, "consumerNotFound")) throw error;
    });
  }

  #jetstream(): Promise<JetStreamManager> {
    this.#manager ??= jetstreamManager(this.#options.connection, { checkAPI: false });
    return this.#manager;
  }
}
