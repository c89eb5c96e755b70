import type { NatsConnection } from "@nats-io/transport-node";
import { generationsStream } from "@reprise/protocol";
import { consumerCall, inboxOf } from "@reprise/broker";

const TIMEOUT_MS = 2_000;

/**
 * Number of a shard's events that the followers of a name have not acknowledged, handed out or not; the same for each follower.
 * @returns undefined if the broker does not say, or there is no such follower
 */
export async function readShardBacklog(
  connection: NatsConnection,
  shard: number,
  name: string,
): Promise<number | undefined> {
  const subject = consumerCall("INFO", generationsStream(shard), name);
  const reply = await inboxOf(connection).ask(subject, "", TIMEOUT_MS);
  if (typeof reply === "string") return undefined;
  const { num_pending: waiting, num_ack_pending: handedOut } = reply.json<{
    num_pending?: number;
    num_ack_pending?: number;
  }>();
  return waiting === undefined || handedOut === undefined ? undefined : waiting + handedOut;
}
