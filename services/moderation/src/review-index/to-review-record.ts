import type { ReviewRecord } from "@reprise/moderation";
import type { Review } from "../domain/reviews.ts";

/** @param waitMs how long the policy waits for an answer */
export function toReviewRecord(review: Review, waitMs: number): ReviewRecord {
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
