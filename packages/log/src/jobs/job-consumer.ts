import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { jobQueue, JOBS_STREAM, RepriseError } from "@reprise/protocol";
import { isRefusal } from "../nats/jetstream-errors.ts";

/**
 * Makes the durable consumer that all workers of a model share, or brings an existing one in line: the last one to start says
 * how long a worker may be silent.
 * @returns the consumer's name
 * @throws RepriseError `broker_unavailable`
 */
export async function ensureJobConsumer(
  connection: NatsConnection,
  model: string,
  ackWaitMs: number,
): Promise<string> {
  const { filter, consumer } = jobQueue(model);
  const config = {
    filter_subject: filter,
    ack_wait: ackWaitMs * 1_000_000,
    max_ack_pending: 100_000,
    max_waiting: 10_000,
    max_deliver: -1,
  };
  try {
    const { consumers } = await jetstreamManager(connection, { checkAPI: false });
    await consumers
      .add(JOBS_STREAM, { ...config, durable_name: consumer, ack_policy: AckPolicy.Explicit })
      .catch((error: unknown) => {
        if (isRefusal(error, "consumerExists")) return consumers.update(JOBS_STREAM, consumer, config);
        throw error;
      });
    return consumer;
  } catch (cause) {
    throw new RepriseError("broker_unavailable", `The queue of model ${model} could not be opened.`, {
      cause,
      retryAfterMs: 1_000,
    });
  }
}
