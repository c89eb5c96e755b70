import { generationsStream, shardSubjects } from "@reprise/protocol";
import { setTimeout as pause } from "node:timers/promises";
import type { Broker } from "../nats/connection.ts";
import { getBatchDirect, streamSeqOf } from "../nats/direct-get.ts";
import { HEADER } from "../nats/header.ts";
import type { DeliveryInfo } from "./deliveries.ts";
import { getStreamInfo } from "../nats/stream-api.ts";

/** What lies at one place of a shard's stream. `data` is part of a larger chunk: copy it to keep it. */
export interface BackfilledMessage extends Pick<DeliveryInfo, "streamSeq" | "storedAtMs"> {
  readonly subject: string;
  readonly data: Uint8Array;
}

export interface BackfillOptions {
  broker: Broker;
  shard: number;
  afterStreamSeq: number;
  upToStreamSeq: number;
  isStopped: () => boolean;
  onMessage: (stored: BackfilledMessage) => void;
}

const READ_MESSAGES = 512;
const READ_BYTES = 1_024 * 1_024;
/** How long to retry for messages that the leader should have and no replica returns. */
const SEARCH_MS = 10_000;
const SEARCH_PAUSE_MS = 20;

/**
 * Reads what a shard's stream holds between two places, in order. A replica that has something behind a place has all that is left
 * before it; one that has nothing may lag, so the leader is asked where the stream begins and ends.
 * @throws RepriseError `broker_unavailable`
 */
export async function readBackfill(options: BackfillOptions): Promise<void> {
  const { broker, shard, upToStreamSeq, isStopped, onMessage: onStored } = options;
  const stream = generationsStream(shard);
  const deadline = Date.now() + SEARCH_MS;
  let last = options.afterStreamSeq;
  while (last < upToStreamSeq && !isStopped()) {
    const { messages } = await getBatchDirect(broker.reads, stream, {
      afterStreamSeq: last,
      subject: shardSubjects(shard).stored,
      maxMessages: READ_MESSAGES,
      maxBytes: READ_BYTES,
    });
    for (const msg of messages) {
      last = streamSeqOf(msg);
      if (last > upToStreamSeq || isStopped()) return;
      const subject = msg.headers?.get(HEADER.subject) ?? "";
      const storedAtMs = Date.parse(msg.headers?.get(HEADER.timeStamp) ?? "");
      onStored({ subject, data: msg.data, streamSeq: last, storedAtMs });
    }
    if (messages.length > 0) continue;
    const { state } = await getStreamInfo(broker.reads, stream);
    const isGone = upToStreamSeq < state.first_seq || last >= state.last_seq;
    if (isGone || Date.now() > deadline) return;
    await pause(SEARCH_PAUSE_MS);
  }
}
