import { type ConsumerInfo, JetStreamApiError } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { consumerList, inboxOf, streamUnavailable } from "@reprise/broker";

interface ConsumersPage {
  readonly total: number;
  readonly consumers?: readonly ConsumerInfo[];
  /** In a cluster: consumers whose leader has not answered. */
  readonly missing?: readonly string[];
  readonly error?: ConstructorParameters<typeof JetStreamApiError>[0];
}

const TIMEOUT_MS = 5_000;

/**
 * All consumers of a stream, a request for each 256 of them.
 * @throws RepriseError `broker_unavailable`, also when one of the consumers has no leader
 */
export async function listConsumers(connection: NatsConnection, stream: string): Promise<ConsumerInfo[]> {
  const found: ConsumerInfo[] = [];
  for (;;) {
    const request = JSON.stringify({ offset: found.length });
    const reply = await inboxOf(connection).ask(consumerList(stream), request, TIMEOUT_MS);
    if (typeof reply === "string") throw streamUnavailable(stream, reply, reply);
    const { error, total, consumers = [], missing = [] } = reply.json<ConsumersPage>();
    if (error)
      throw streamUnavailable(stream, `${error.err_code} ${error.description}`, new JetStreamApiError(error));
    if (missing.length > 0)
      throw streamUnavailable(stream, `${missing.length} of its consumers do not answer`);
    found.push(...consumers);
    if (consumers.length === 0 || found.length >= total) return found;
  }
}
