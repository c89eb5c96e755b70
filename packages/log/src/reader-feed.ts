import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, type NodeId, parseReaderSubject, readerSubjects } from "@reprise/protocol";
import { decodeReaderRecord, type ReaderRecord } from "./reader-presence.ts";
import { subscribeGuarded } from "./subscribe-guarded.ts";

export interface ReaderFeedOptions {
  /** Called for each word of a node about its readers, inside the connection's read loop: it has to be short. */
  onReaders: (node: NodeId, record: ReaderRecord) => void;
  /** Told what `onReaders` throws, and of words that are none. */
  onError: (error: unknown) => void;
}

/** Follows what nodes say of one generation's readers, as they say it. Nodes repeat themselves, so one that is missed comes again. */
export function subscribeReaders(
  connection: NatsConnection,
  ref: GenerationRef,
  { onReaders, onError }: ReaderFeedOptions,
): Subscription {
  const onMessage = ({ subject, data }: Msg) => {
    const record = decodeReaderRecord(data);
    if (record) onReaders(parseReaderSubject(subject).node, record);
  };
  return subscribeGuarded(connection, readerSubjects(ref), { onMessage, onError });
}
