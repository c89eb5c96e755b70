import { setTimeout as pause } from "node:timers/promises";
import { listReview } from "@reprise/log";
import {
  type EffectiveModeration,
  type GenerationRef,
  RepriseError,
  toRepriseError,
} from "@reprise/protocol";
import type { Review } from "../domain/reviews.ts";
import type { ModeratorContext } from "../judging/moderator-context.ts";
import { toReviewRecord } from "./to-review-record.ts";

const PAUSE_MS = 1_000;
/** Longer than a restart of the broker takes. */
const TOLD_AFTER = 30;
const NOT_TAKEN = `The list of reviews has taken none for ${TOLD_AFTER} s.`;

/**
 * Lists a review, however long the broker is away: a review that is not listed would be seen by no reviewer, and would never end.
 * @throws what is not retryable, as what the client does not send
 */
export async function retryListing(
  of: { context: ModeratorContext; ref: GenerationRef; moderation: EffectiveModeration },
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
  for (let tries = 1; !isOver() && !(await list()); tries++) {
    if (tries === TOLD_AFTER) context.onError(new RepriseError("broker_unavailable", NOT_TAKEN));
    await pause(PAUSE_MS);
  }
}
