import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import {
  END_SUBJECTS,
  endSubject,
  type GenerationRef,
  parseEndSubject,
  parseUsage,
  type Usage,
} from "@reprise/protocol";
import { subscribeGuarded } from "@reprise/broker";

/*
 * The process that ends a generation tells all nodes so, at most once: the node that created the generation gives back what it holds of the
 * tenant's limits. A message that is lost costs a share of a limit until that node asks the log, and never an event.
 */

/** Tells all nodes that a generation's terminal event is stored. */
export function announceEnd(connection: NatsConnection, ref: GenerationRef, usage?: Usage): void {
  if (connection.isClosed() || connection.isDraining()) return;
  connection.publish(endSubject(ref), usage ? JSON.stringify(usage) : "");
}

export interface EndsOptions {
  /** Called for each end, inside the connection's read loop: it has to be short. Without a usage where that is not known. */
  onEnd: (ref: GenerationRef, usage: Usage | undefined) => void;
  /** Called with what `onEnd` throws, and for messages that are malformed. */
  onError: (error: unknown) => void;
}

/** Hears of ends, of every tenant. */
export function subscribeEnds(connection: NatsConnection, { onEnd, onError }: EndsOptions): Subscription {
  const onMessage = (message: Msg) => {
    const text = message.string();
    onEnd(parseEndSubject(message.subject), text === "" ? undefined : parseUsage(text));
  };
  return subscribeGuarded(connection, END_SUBJECTS, { onMessage, onError });
}
