import {
  appendDecision,
  createWriterName,
  type ListedReview,
  readExpiredReviews,
  removeReview,
} from "@reprise/log";
import {
  type EffectiveModeration,
  type EventDraft,
  RepriseError,
  toRepriseError,
  type Transcript,
} from "@reprise/protocol";
import { readPolicy } from "@reprise/log";
import type { JudgingContext } from "./judging-context.ts";

/** Who has decided when nobody did. */
const BY_TIMEOUT = "timeout";

/**
 * Has the policy decide the reviews that nobody has answered in time. Any number of replicas may do it at once: one decision is stored.
 * @returns how many were decided here
 * @throws RepriseError `broker_unavailable`
 */
export async function decideExpiredReviews(context: JudgingContext, nowMs: number): Promise<number> {
  const expired = await readExpiredReviews(context.connection, { nowMs });
  let count = 0;
  for (const listed of expired) if (await decideExpired(context, listed)) count++;
  return count;
}

async function decideExpired(
  { log, connection, onDecided }: JudgingContext,
  { ref, reviewId }: ListedReview,
): Promise<boolean> {
  try {
    const { events } = await log.reader.readLog(ref);
    const moderation = events[0] && readPolicy(events[0])?.moderation;
    if (moderation) {
      const { appended } = await appendDecision({
        ...log,
        ref,
        writer: createWriterName(),
        decide: (transcript) => answer(transcript, reviewId, moderation),
      });
      if (appended) {
        onDecided("moderation.reviewed");
        return true;
      }
    }
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (error.retryable || !isGone(error)) throw error;
  }
  // Decided before, or gone with its log: an entry that outlives its review.
  await removeReview(connection, ref, reviewId);
  return false;
}

function answer(
  { reviews }: Transcript,
  reviewId: string,
  { review, replacement }: EffectiveModeration,
): EventDraft | undefined {
  if (!reviews.has(reviewId)) return undefined;
  const said = { type: "moderation.reviewed", review_id: reviewId, reviewer: BY_TIMEOUT } as const;
  if (review.answer === "redact") return { ...said, decision: "edit", replacement };
  return { ...said, decision: review.answer };
}

function isGone({ code }: RepriseError): boolean {
  return code === "generation_not_found" || code === "generation_expired";
}
