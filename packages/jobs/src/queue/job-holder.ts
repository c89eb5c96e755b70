import { retry } from "@reprise/async";
import type { NatsConnection } from "@nats-io/transport-node";
import { inboxOf } from "@reprise/broker";
import { parseGenerationId, type GenerationId, type WorkerId, workerSubject } from "@reprise/protocol";

/*
 * A job comes to a second worker when the first one's heartbeats have not reached the broker in time. That is mostly because the
 * worker is dead, but a broker that has elected a new leader or has come back after a while has the same effect on all jobs at once. So
 * the second worker asks the first, and leaves the job to it when it answers: its heartbeats count for the job, not for one
 * delivery of it. The answer is a courtesy, not a control channel: one that does not come costs an attempt, for the log fences.
 */

const HELD = "+";
const NOT_HELD = "-";
/**
 * A worker that sleeps does not answer; one that is dead has no subscription, and "no responders" comes at once. A worker on a busy machine
 * first works off what a broker that had stood still sends it all at once.
 */
const ASK_MS = 2_000;
/** All workers of a broker that was away come back within this time of each other. */
const RECONNECTING_MS = 1_000;
const PAUSE_MS = 50;

/** Answers other workers' question whether this one runs a generation. @returns how to stop answering */
export function answerHolderQueries(
  connection: NatsConnection,
  worker: WorkerId,
  holds: (generation: GenerationId) => boolean,
): () => void {
  const subscription = connection.subscribe(workerSubject(worker), {
    callback: (error, msg) => {
      // What is not a generation's id is no question of ours.
      if (!error) msg.respond(isHeldHere(msg.string(), holds) ? HELD : NOT_HELD);
    },
  });
  return () => subscription.unsubscribe();
}

/**
 * True if a worker runs a generation at this moment. False if it does not answer within two seconds.
 * @param connectedAtMs when the connection was last re-established, by `performance.now()`; infinity while it is away. A question that is asked while it
 *   is away reaches no worker, and right after that the other worker may not be back yet: a question within the first second is asked again
 */
export async function isHeld(
  connection: NatsConnection,
  worker: WorkerId,
  generation: GenerationId,
  connectedAtMs: () => number = () => Number.NEGATIVE_INFINITY,
): Promise<boolean> {
  const ask = async () => {
    const askedAtMs = performance.now();
    const answer = await inboxOf(connection).ask(workerSubject(worker), generation, ASK_MS);
    if (typeof answer !== "string") return answer.string() === HELD;
    // No such worker, or it does not answer; of a connection that is closed the append that follows tells.
    const isSettled = connection.isClosed() || askedAtMs > connectedAtMs() + RECONNECTING_MS;
    return isSettled ? false : undefined;
  };
  return (await retry(ask, { pauseMs: PAUSE_MS })) ?? false;
}

function isHeldHere(question: string, holds: (generation: GenerationId) => boolean): boolean {
  try {
    return holds(parseGenerationId(question));
  } catch {
    return false;
  }
}
