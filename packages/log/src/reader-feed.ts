import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, type NodeId, parseReaderSubject, readerSubjects } from "@reprise/protocol";
import { decodeReaderRecord, type ReaderRecord } from "./reader-presence.ts";

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
  return connection.subscribe(readerSubjects(ref), {
    callback: (error, msg) => {
      try {
        if (error) throw error;
        const record = decodeReaderRecord(msg.data);
        if (record) onReaders(parseReaderSubject(msg.subject).node, record);
      } catch (thrown) {
        onError(thrown);
      }
    },
  });
}
