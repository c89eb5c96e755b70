import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { subscribeGuarded } from "@reprise/broker";
import { type GenerationRef, parseYieldSubject, YIELD_SUBJECTS } from "@reprise/protocol";

/*
 * A process that appends one event to the log of a running generation has to read the last event and to publish after it, while the
 * worker, which knows its own last event, only publishes: against a worker at full speed it loses again and again. So after each conflict
 * it asks the worker to yield (`requestYield` in `read/generation-log.ts`). The request is a hint, at most once: one that is lost costs time.
 */

interface YieldRequestsOptions {
  /** Called for each request, inside the connection's read loop: it has to be short. */
  onRequest: (ref: GenerationRef) => void;
  /** Called with what `onRequest` throws, and for messages that are not a request. */
  onError: (error: unknown) => void;
}

/** Subscribes to the requests to yield of all logs: they are rare. */
export function subscribeYieldRequests(
  connection: NatsConnection,
  { onRequest, onError }: YieldRequestsOptions,
): Subscription {
  const onMessage = ({ subject }: Msg) => onRequest(parseYieldSubject(subject));
  return subscribeGuarded(connection, YIELD_SUBJECTS, { onMessage, onError });
}
