import { retry } from "@reprise/async";
import { type GenerationRef, jobSubject, type Priority, RepriseError, STREAM_START } from "@reprise/protocol";
import { HEADER, type Publish } from "@reprise/broker";
import { formatShare, type TenantShare } from "../shares/tenant-share.ts";

export interface EnqueueOptions {
  model: string;
  ref: GenerationRef;
  /** That of its request; another one would be another job. Default `interactive`, as in a request. */
  priority?: Priority | undefined;
  /** The generation's seq-0 event, so that a worker can write it if the node that created the generation died before it did. */
  payload: Uint8Array;
  /** The tenant's share of the model's slots from now on. Default: as in its previous job. */
  share?: TenantShare | undefined;
  /** The `traceparent` of the span in which it is queued. Default: none. */
  trace?: string | undefined;
  /** Milliseconds to keep trying while the broker does not answer; an election takes up to 10 s. Default 20 s. */
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
  { model, ref, priority, payload, share, trace, budgetMs = 20_000 }: EnqueueOptions,
): Promise<{ duplicate: boolean }> {
  const tryOnce = async (attempts: number) => {
    const outcome = await publish(jobSubject(model, ref, priority), payload, {
      messageId: ref.generation,
      expectedLast: STREAM_START,
      extra: {
        ...(share && { [HEADER.share]: formatShare(share) }),
        ...(trace !== undefined && { [HEADER.trace]: trace }),
      },
    });
    if (outcome.kind === "unavailable") return undefined;
    const wasThere = outcome.kind === "conflict" || outcome.duplicate;
    return { duplicate: wasThere && attempts === 0 };
  };
  const queued = await retry(tryOnce, { pauseMs: PAUSE_MS, budgetMs });
  if (queued) return queued;
  throw new RepriseError("broker_unavailable", "The job could not be queued.", { retryAfterMs: 1_000 });
}
