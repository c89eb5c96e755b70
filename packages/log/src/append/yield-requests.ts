import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, parseYieldSubject, YIELD_SUBJECTS, yieldSubject } from "@reprise/protocol";
import { subscribeGuarded } from "../nats/subscribe-guarded.ts";

/*
 * A process that appends one event to the log of a running generation has to read the last event and to publish behind it, while the
 * worker, which knows its own last event, only publishes: against a worker at full speed it loses again and again. So after each conflict
 * it asks the worker to yield. The request is a hint, at most once: it decides nothing, and one that is lost costs time.
 */

/** Asks the worker that writes a log to leave a pause between two of its appends. */
export function requestYield(connection: NatsConnection, ref: GenerationRef): void {
  if (!connection.isClosed()) connection.publish(yieldSubject(ref));
}

export interface YieldRequestsOptions {
  /** Called for each request, inside the connection's read loop: it has to be short. */
  onRequest: (ref: GenerationRef) => void;
  /** Called with what `onRequest` throws, and for messages that are no request. */
  onError: (error: unknown) => void;
}

/** Hears of the requests to yield, for every log: they are rare. */
export function subscribeYieldRequests(
  connection: NatsConnection,
  { onRequest, onError }: YieldRequestsOptions,
): Subscription {
  const onMessage = ({ subject }: Msg) => onRequest(parseYieldSubject(subject));
  return subscribeGuarded(connection, YIELD_SUBJECTS, { onMessage, onError });
}
