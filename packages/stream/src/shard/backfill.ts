import { retry } from "@reprise/async";
import { generationsStream, shardSubjects, type StreamSeq, toUnixMs } from "@reprise/protocol";
import type { Msg } from "@nats-io/transport-node";
import {
  type Broker,
  getBatchDirect,
  storedAtOf,
  streamSeqOf,
  subjectOf,
  type DeliveryInfo,
  getStreamInfo,
} from "@reprise/broker";

/** A message at one place of a shard's stream. `data` is part of a larger chunk: copy it to keep it. */
export interface BackfilledMessage extends Pick<DeliveryInfo, "streamSeq" | "storedAtMs"> {
  readonly subject: string;
  readonly data: Uint8Array;
}

export interface BackfillOptions {
  broker: Broker;
  shard: number;
  afterStreamSeq: StreamSeq;
  upToStreamSeq: StreamSeq;
  signal: AbortSignal;
  onMessage: (stored: BackfilledMessage) => void;
}

const READ_MESSAGES = 512;
const READ_BYTES = 1_024 * 1_024;
/** Milliseconds to look for messages that the leader should have and no replica returns. */
const SEARCH_MS = 10_000;
const SEARCH_PAUSE_MS = 20;

/**
 * Reads a shard's stream between two places, in order. A replica that returns a message after a place has all messages still kept before it. A replica
 * that returns none may lag, so the leader is asked for the stream's first and last place.
 * @throws RepriseError `broker_unavailable`
 */
export async function readBackfill({ onMessage, ...options }: BackfillOptions): Promise<void> {
  const { upToStreamSeq, signal } = options;
  for (let last = options.afterStreamSeq; last < upToStreamSeq;) {
    const from = { ...options, afterStreamSeq: last };
    const messages = await retry(() => readOn(from), {
      pauseMs: SEARCH_PAUSE_MS,
      budgetMs: SEARCH_MS,
      signal,
    });
    if (!messages || messages.length === 0) return;
    for (const msg of messages) {
      last = streamSeqOf(msg);
      if (last > upToStreamSeq || signal.aborted) return;
      const storedAtMs = toUnixMs(storedAtOf(msg));
      onMessage({ subject: subjectOf(msg), data: msg.data, streamSeq: last, storedAtMs });
    }
  }
}

/** @returns the next messages; none when there are none left; undefined when the replica that answered lags the leader */
async function readOn({
  broker,
  shard,
  afterStreamSeq,
  upToStreamSeq,
}: Omit<BackfillOptions, "onMessage">): Promise<readonly Msg[] | undefined> {
  const stream = generationsStream(shard);
  const { messages } = await getBatchDirect(broker.reads, stream, {
    afterStreamSeq,
    subject: shardSubjects(shard).stored,
    maxMessages: READ_MESSAGES,
    maxBytes: READ_BYTES,
  });
  if (messages.length > 0) return messages;
  const { state } = await getStreamInfo(broker.reads, stream);
  const isGone = upToStreamSeq < state.first_seq || afterStreamSeq >= state.last_seq;
  return isGone ? [] : undefined;
}
