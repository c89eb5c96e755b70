import { appendDecision, type GenerationLog, isExpiredOrErased, readPolicy } from "@reprise/stream";
import { type Broker, createWriterName } from "@reprise/broker";
import { type ListedReview, reviewList } from "@reprise/moderation";
import {
  decodeEvent,
  type EffectiveModeration,
  type EventDraft,
  peekType,
  type RepriseError,
  toRepriseError,
  type Transcript,
  type UnixMs,
} from "@reprise/protocol";

/** The reviewer in the log when the policy decides. */
const BY_TIMEOUT = "timeout";

export interface ExpiredReviewsContext {
  readonly connection: Broker["main"];
  readonly log: GenerationLog;
  /** Called for every event that moderation has appended, by its type. */
  readonly onDecided: (type: string) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Decides, by the policy, the reviews that were not answered in time. Any number of replicas may do it at once: one decision is stored.
 * One that can't be decided now is reported to `onError`, and tried again the next time.
 * @throws RepriseError `broker_unavailable` when the list can't be read
 */
export async function decideExpiredReviews(context: ExpiredReviewsContext, nowMs: UnixMs): Promise<void> {
  for (const listed of await reviewList.readExpired(context.connection, { nowMs })) {
    try {
      await decideExpired(context, listed);
    } catch (error) {
      context.onError(error);
    }
  }
}

async function decideExpired(context: ExpiredReviewsContext, { ref, reviewId }: ListedReview): Promise<void> {
  const { log, connection, onDecided } = context;
  try {
    const { events } = await log.reader.readLog(ref);
    const moderation = events[0] && readPolicy(events[0])?.moderation;
    if (!moderation) return;
    const decision = await appendDecision({
      ...log,
      ref,
      writer: createWriterName(),
      decide: (transcript) => answer(transcript, reviewId, moderation),
    });
    if (decision.appended) onDecided("moderation.reviewed");
    // A replica that lags may not show yet that the review was asked for.
    else if (!decision.events.some((payload) => isAnswer(payload, reviewId))) return;
  } catch (thrown) {
    const error = toRepriseError(thrown);
    if (!isGone(error)) throw error;
  }
  await reviewList.remove(connection, ref, reviewId);
}

function isAnswer(payload: Uint8Array, reviewId: string): boolean {
  if (peekType(payload) !== "moderation.reviewed") return false;
  return (decodeEvent(payload) as { review_id?: string }).review_id === reviewId;
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

function isGone(error: RepriseError): boolean {
  return error.code === "generation_not_found" || isExpiredOrErased(error);
}
