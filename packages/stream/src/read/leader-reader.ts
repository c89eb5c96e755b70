import type { NatsConnection } from "@nats-io/transport-node";
import { type GenerationRef, logSubject, shardOf, streamOf, type StreamSeq } from "@reprise/protocol";
import {
  HEADER,
  isRefusal,
  getLastMessage,
  getNextMessage,
  headerOf,
  type StoredMessage,
} from "@reprise/broker";
import type { StoredEvent } from "./stored-event.ts";

/**
 * Reads from the stream's leader, so it sees every write that was acknowledged before. It costs a request per event and
 * fails during an election: for settling unclear outcomes, never for catching up.
 */
export interface LeaderReader {
  /**
   * The events stored after a stream sequence, oldest first: all of them, or at most `most`.
   * @throws RepriseError `broker_unavailable` when the leader does not answer within 2 s
   */
  readTail(ref: GenerationRef, afterStreamSeq: StreamSeq, most?: number): Promise<StoredEvent[]>;
  /**
   * The last event, or undefined for a log that has none.
   * @throws RepriseError `broker_unavailable` when the leader does not answer within 2 s
   */
  readLast(ref: GenerationRef): Promise<StoredEvent | undefined>;
}

const TIMEOUT_MS = 2_000;

/** @param shards of logs in other shards it says that they are empty, as `createLogReader` does */
export function createLeaderReader(
  connection: NatsConnection,
  shards = Number.POSITIVE_INFINITY,
): LeaderReader {
  const isInShard = ({ generation }: GenerationRef) => shardOf(generation) < shards;
  return {
    async readTail(ref, afterStreamSeq, most = Infinity) {
      if (!isInShard(ref)) return [];
      const stream = streamOf(ref.generation);
      const subject = logSubject(ref);
      const events: StoredEvent[] = [];
      for (let after = afterStreamSeq; events.length < most;) {
        const place = { afterStreamSeq: after, subject };
        const message = await getNextMessage(connection, stream, place, TIMEOUT_MS).catch(noneIfAbsent);
        if (!message) break;
        events.push(toStoredEvent(message));
        after = message.streamSeq;
      }
      return events;
    },
    async readLast(ref) {
      if (!isInShard(ref)) return undefined;
      const last = getLastMessage(connection, streamOf(ref.generation), logSubject(ref), TIMEOUT_MS);
      const message = await last.catch(noneIfAbsent);
      return message && toStoredEvent(message);
    },
  };
}

/** A generation id names its shard, and a client may make one up: in a stream that does not exist every log is empty. */
function noneIfAbsent(error: unknown): undefined {
  if (!isRefusal(error, "streamNotFound")) throw error;
}

function toStoredEvent(message: StoredMessage): StoredEvent {
  const { payload, streamSeq } = message;
  return { payload, streamSeq, writer: headerOf(message, HEADER.writer) ?? "" };
}
