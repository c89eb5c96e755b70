import { setTimeout as pause } from "node:timers/promises";
import { type GenerationRef, jobSubject, RepriseError } from "@reprise/protocol";
import type { Publish } from "../nats/publisher.ts";

export interface EnqueueOptions {
  model: string;
  ref: GenerationRef;
  /** The generation's seq-0 event, so that a worker can write it if the node that created the generation died before it did. */
  payload: Uint8Array;
  /** How long to go on when the broker does not answer; an election takes up to 10 s. Default 20 s. */
  budgetMs?: number;
}

const PAUSE_MS = 100;

/**
 * Puts a generation into its model's queue, at most once for as long as it waits or runs there, and for two minutes over all
 * queues: an unanswered try is simply repeated.
 * @returns whether it was there already; of a try that was repeated that can't be told, and the answer is no
 * @throws RepriseError `broker_unavailable`
 */
export async function enqueueJob(
  publish: Publish,
  { model, ref, payload, budgetMs = 20_000 }: EnqueueOptions,
): Promise<{ duplicate: boolean }> {
  const deadline = Date.now() + budgetMs;
  for (let repeated = false; ; repeated = true) {
    const outcome = await publish(jobSubject(model, ref), payload, {
      messageId: ref.generation,
      expectedLast: 0,
    });
    if (outcome.kind === "stored") return { duplicate: outcome.duplicate && !repeated };
    if (outcome.kind === "conflict") return { duplicate: !repeated };
    if (Date.now() > deadline) break;
    await pause(PAUSE_MS);
  }
  throw new RepriseError("broker_unavailable", "The job could not be queued.", { retryAfterMs: 1_000 });
}
