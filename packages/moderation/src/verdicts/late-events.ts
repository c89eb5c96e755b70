import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import {
  type GenerationRef,
  LATE_EVENT_SUBJECTS,
  lateEventSubject,
  parseLateEventSubject,
  RepriseError,
  type Seq,
  asSeq,
} from "@reprise/protocol";
import { subscribeGuarded } from "@reprise/broker";

/*
 * A node stops following a log that has ended, unless its own policy lets moderation withdraw text after the end, and keeps it in memory for a while.
 * A later judgement by other rules may still withdraw text: nodes are told, at most once, and read the events they lack. A node that misses the
 * message has lost its connection, and then reads every log in its memory again.
 */

/** Tells all nodes that a log continues up to an event after its end. The event is stored. */
export function announceLateEvent(connection: NatsConnection, ref: GenerationRef, seq: Seq): void {
  connection.publish(lateEventSubject(ref), `${seq}`);
}

export interface LateEventsOptions {
  /** Called for each announcement, inside the connection's read loop: it has to be short. */
  onLate: (ref: GenerationRef, seq: Seq) => void;
  /** Called with what `onLate` throws, and for messages that are no announcement. */
  onError: (error: unknown) => void;
}

/** Hears of late events, of every tenant. */
export function subscribeLateEvents(
  connection: NatsConnection,
  { onLate, onError }: LateEventsOptions,
): Subscription {
  const onMessage = (message: Msg) => {
    const ref = parseLateEventSubject(message.subject);
    const text = message.string();
    if (!/^[1-9][0-9]{0,8}$/.test(text))
      throw new RepriseError(
        "protocol_violation",
        `A late event has no seq: ${JSON.stringify(text.slice(0, 20))}.`,
      );
    onLate(ref, asSeq(Number(text)));
  };
  return subscribeGuarded(connection, LATE_EVENT_SUBJECTS, { onMessage, onError });
}
