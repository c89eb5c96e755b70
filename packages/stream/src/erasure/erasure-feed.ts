import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import {
  decodeOpsRecord,
  ERASED_SUBJECTS,
  type GenerationRef,
  parseOpsSubject,
  RepriseError,
} from "@reprise/protocol";
import { isPublished, notPublished, subscribeGuarded } from "@reprise/broker";

export interface ErasureFeedOptions {
  /** Called for each generation that is erased, inside the connection's read loop: it has to be short. */
  onErased: (ref: GenerationRef) => void;
  /** Called with what `onErased` throws, and for messages that are no such record. */
  onError: (error: unknown) => void;
}

/** Hears of erased generations, of every tenant, as it is recorded: at most once. */
export function subscribeErasures(
  connection: NatsConnection,
  { onErased, onError }: ErasureFeedOptions,
): Subscription {
  const onMessage = ({ subject, data, headers }: Msg) => {
    if (!isPublished(headers)) throw notPublished(subject);
    const { tenant, generation } = parseOpsSubject(subject);
    if (decodeOpsRecord(data)?.kind !== "erased")
      throw new RepriseError("protocol_violation", "An erasure record cannot be decoded.");
    if (generation !== undefined) onErased({ tenant, generation });
  };
  return subscribeGuarded(connection, ERASED_SUBJECTS, { onMessage, onError });
}
