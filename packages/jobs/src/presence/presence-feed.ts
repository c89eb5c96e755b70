import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, type NodeId, parseReaderSubject, readerSubjects } from "@reprise/protocol";
import { decodePresenceRecord, type PresenceRecord } from "./presence-records.ts";
import { isPublished, notPublished, subscribeGuarded } from "@reprise/broker";

export interface PresenceFeedOptions {
  /** Called for each presence record of a node, inside the connection's read loop: it has to be short. */
  onReaders: (node: NodeId, record: PresenceRecord) => void;
  /** Called with what `onReaders` throws, and for malformed records. */
  onError: (error: unknown) => void;
}

/** Follows the presence records of one generation, live. Nodes repeat them, so one that is missed comes again. */
export function subscribePresence(
  connection: NatsConnection,
  ref: GenerationRef,
  { onReaders, onError }: PresenceFeedOptions,
): Subscription {
  const onMessage = ({ subject, data, headers }: Msg) => {
    if (!isPublished(headers)) throw notPublished(subject);
    const record = decodePresenceRecord(data);
    if (record) onReaders(parseReaderSubject(subject).node, record);
  };
  return subscribeGuarded(connection, readerSubjects(ref), { onMessage, onError });
}
