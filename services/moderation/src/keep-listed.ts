import { setTimeout as pause } from "node:timers/promises";
import { listReview } from "@reprise/log";
import { type EffectiveModeration, type GenerationRef, toRepriseError } from "@reprise/protocol";
import type { Review } from "./domain/reviews.ts";
import type { JudgingContext } from "./judging-context.ts";
import { toReviewRecord } from "./to-review-record.ts";

const PAUSE_MS = 1_000;

/**
 * Lists a review, however long the broker is away: one that is not listed would be seen by nobody, and would never end.
 * @throws what is not retryable, as what the client does not send
 */
export async function keepListed(
  of: { context: JudgingContext; ref: GenerationRef; moderation: EffectiveModeration },
  review: Review,
  isOver: () => boolean,
): Promise<void> {
  const { context, ref, moderation } = of;
  const record = toReviewRecord(review, moderation.review.after_ms);
  const list = () =>
    listReview(context.log.publish, ref, review.reviewId, record).catch((error: unknown) => {
      if (!toRepriseError(error).retryable) throw error;
      context.onError(error);
      return false;
    });
  while (!isOver() && !(await list())) await pause(PAUSE_MS);
}
