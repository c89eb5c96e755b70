import { retry } from "@reprise/async";
import { type GenerationLog } from "@reprise/stream";
import { reviewList, type ReviewRecord } from "@reprise/moderation";
import {
  type EffectiveModeration,
  type GenerationRef,
  RepriseError,
  toRepriseError,
} from "@reprise/protocol";
import type { Review } from "../domain/reviews.ts";

const PAUSE_MS = 1_000;
/** Longer than a restart of the broker takes. */
const REPORT_AFTER_MS = 30_000;
const NOT_LISTED = `A review could not be listed for ${REPORT_AFTER_MS / 1_000} s; retrying.`;

export interface RetryListingOptions {
  readonly context: {
    readonly log: Pick<GenerationLog, "publish">;
    readonly onError: (error: unknown) => void;
  };
  readonly ref: GenerationRef;
  readonly moderation: EffectiveModeration;
  /** Ends the retries. */
  readonly signal: AbortSignal;
}

/**
 * Lists a review, however long the broker is away: a review that is not listed would be seen by no reviewer, and would never end.
 * @throws what is not retryable, as what the client does not send
 */
export async function retryListing(
  { context, ref, moderation, signal }: RetryListingOptions,
  review: Review,
): Promise<void> {
  const record = toReviewRecord(review, moderation.review.after_ms);
  const startMs = performance.now();
  let isReported = false;
  const list = async (): Promise<true | undefined> => {
    try {
      if (await reviewList.add(context.log.publish, ref, review.reviewId, record)) return true;
    } catch (error) {
      if (!toRepriseError(error).retryable) throw error;
      context.onError(error);
    }
    if (!isReported && performance.now() - startMs >= REPORT_AFTER_MS) {
      isReported = true;
      context.onError(new RepriseError("broker_unavailable", NOT_LISTED));
    }
    return undefined;
  };
  await retry(list, { pauseMs: PAUSE_MS, signal });
}

/** @param waitMs how long the policy waits for an answer */
function toReviewRecord(review: Review, waitMs: number): ReviewRecord {
  const { rule, category, fromSeq, toSeq, channelName, expiresAtMs } = review;
  return {
    rule,
    category,
    from_seq: fromSeq,
    to_seq: toSeq,
    channel: channelName,
    created_at: new Date(expiresAtMs - waitMs).toISOString(),
    expires_at: new Date(expiresAtMs).toISOString(),
  };
}
