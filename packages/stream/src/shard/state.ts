import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  jetstreamManager,
} from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/transport-node";
import { RepriseError, type StreamSeq, asStreamSeq, generationsStream } from "@reprise/protocol";
import { isRefusal, consumerCall, inboxOf } from "@reprise/broker";

/** All followers of a name are in one group, of which one at a time is fed. */
export const GROUP = "followers";
/** For how long a follower that asks for nothing stays the one that is fed. */
const PIN_MS = 3_000;
const ACK_WAIT_MS = 30_000;
/** The most events that may be unacknowledged; the broker hands out no more then. */
const MAX_ACK_PENDING = 50_000;
const TIMEOUT_MS = 2_000;

/** Start of a consumer that does not exist yet: after a place in the stream, or with the first event of a time or later. */
export type ConsumerStart = { readonly afterStreamSeq: StreamSeq } | { readonly time: Date } | "beginning";

/** A place in a stream, and the number of the delivery that reached it. */
export interface ConsumerPosition {
  readonly streamSeq: StreamSeq;
  readonly deliverySeq: number;
}

export interface ShardConsumerState {
  /** Place up to which the consumer has handed out events, to any follower. */
  readonly delivered: ConsumerPosition;
  /** Up to here everything is acknowledged. */
  readonly acknowledged: ConsumerPosition;
  readonly unacknowledged: number;
  /** Number of events after those that were handed out. */
  readonly pending: number;
  /** The follower that is fed; undefined when none is. */
  readonly pinId: string | undefined;
}

/**
 * The broker's state of a durable consumer. Creates the consumer if it is missing; leaves an existing one unchanged.
 * @throws RepriseError `broker_unavailable`
 */
export async function openShardConsumer(
  connection: NatsConnection,
  stream: string,
  name: string,
  start: () => ConsumerStart,
): Promise<ShardConsumerState> {
  try {
    const { consumers } = await jetstreamManager(connection, { timeout: TIMEOUT_MS, checkAPI: false });
    const read = () => consumers.info(stream, name);
    const info = await read().catch((error: unknown) => {
      if (!isRefusal(error, "consumerNotFound")) throw error;
      return consumers.add(stream, toConfig(name, start())).catch((refused: unknown) => {
        // Another follower was faster.
        if (isRefusal(refused, "consumerExists")) return read();
        throw refused;
      });
    });
    return toState(info);
  } catch (cause) {
    throw new RepriseError("broker_unavailable", `The consumer ${name} of ${stream} could not be opened.`, {
      cause,
      retryAfterMs: 1_000,
    });
  }
}

function toConfig(name: string, start: ConsumerStart): Partial<ConsumerConfig> {
  return {
    durable_name: name,
    ack_policy: AckPolicy.All,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: MAX_ACK_PENDING,
    max_deliver: -1,
    priority_groups: [GROUP],
    priority_policy: "pinned_client",
    priority_timeout: nanos(PIN_MS),
    ...toDeliverPolicy(start),
  };
}

function toDeliverPolicy(start: ConsumerStart): Partial<ConsumerConfig> {
  if (start === "beginning") return { deliver_policy: DeliverPolicy.All };
  if ("time" in start)
    return { deliver_policy: DeliverPolicy.StartTime, opt_start_time: start.time.toISOString() };
  return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: start.afterStreamSeq + 1 };
}

/** Fields that the client's types lack. */
interface Pinning {
  priority_groups?: { group: string; pinned_client_id?: string }[];
}

function toState(info: ConsumerInfo & Pinning): ShardConsumerState {
  const { delivered, ack_floor, num_ack_pending, num_pending, priority_groups } = info;
  const toDelivered = ({ stream_seq, consumer_seq }: ConsumerInfo["delivered"]): ConsumerPosition => ({
    streamSeq: asStreamSeq(stream_seq),
    deliverySeq: consumer_seq,
  });
  return {
    delivered: toDelivered(delivered),
    acknowledged: toDelivered(ack_floor),
    unacknowledged: num_ack_pending,
    pending: num_pending,
    pinId: priority_groups?.find(({ group }) => group === GROUP)?.pinned_client_id,
  };
}

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
