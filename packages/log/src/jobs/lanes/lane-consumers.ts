import { AckPolicy, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { jobLane, JOBS_STREAM, type TenantId, wholeQueueConsumer } from "@reprise/protocol";
import { isRefusal } from "../../nats/jetstream-errors.ts";

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
  readonly #open = new Set<TenantId>();
  #manager: Promise<JetStreamManager> | undefined;

  constructor(options: LaneConsumersOptions) {
    this.#options = options;
  }

  isOpen(tenant: TenantId): boolean {
    return this.#open.has(tenant);
  }

  /** The broker does not know the consumer any more. */
  close(tenant: TenantId): void {
    this.#open.delete(tenant);
  }

  /** @throws what the broker refuses it with */
  async open(tenant: TenantId): Promise<void> {
    await this.#ensure(tenant).catch(async (error: unknown) => {
      if (!isRefusal(error, "consumerNotUnique")) throw error;
      await this.#removeWholeQueue();
      await this.#ensure(tenant);
    });
    this.#open.add(tenant);
  }

  async #ensure(tenant: TenantId): Promise<void> {
    const { model, ackWaitMs } = this.#options;
    const { filter, consumer } = jobLane(model, tenant);
    const config = {
      filter_subject: filter,
      ack_wait: ackWaitMs * MS,
      inactive_threshold: INACTIVE_MS * MS,
      max_ack_pending: 100_000,
      max_waiting: 10_000,
      max_deliver: -1,
    };
    const { consumers } = await this.#jetstream();
    await consumers
      .add(JOBS_STREAM, { ...config, durable_name: consumer, ack_policy: AckPolicy.Explicit })
      .catch((error: unknown) => {
        if (isRefusal(error, "consumerExists")) return consumers.update(JOBS_STREAM, consumer, config);
        throw error;
      });
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
