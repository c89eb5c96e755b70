import { appendDecision, type GenerationLog } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import { createCurrentReader } from "../domain/current-reader.ts";
import { type GenerationRef, RepriseError, type ReviewDecision } from "@reprise/protocol";
import {
  decodeAll,
  historyOf,
  type Review,
  type ReviewAnswer,
  type ReviewedEvent,
  type ReviewHistory,
  reviewNotFound,
  toReview,
} from "./review.ts";

export interface DecidedReview extends Review {
  readonly decision: ReviewDecision;
  readonly reviewer: string;
  readonly replacement?: string;
}

export interface AnswerOptions {
  readonly ref: GenerationRef;
  readonly reviewId: string;
  readonly answer: ReviewAnswer;
  /** The reviewer, for the log. */
  readonly reviewer: string;
}

/** The reviewer in the log where the policy has decided, because no answer came in time. */
const BY_POLICY = "timeout";

/**
 * Appends `moderation.reviewed`, unless the review has been decided. Of all answers to one review, at all nodes, the log takes the
 * first. A later answer with the same decision gets the same response; moderation acts on the decision.
 * @throws RepriseError `review_not_found`, `review_conflict`; `generation_expired`, `generation_erased`, `broker_unavailable`
 */
export async function decideReview(log: GenerationLog, options: AnswerOptions): Promise<DecidedReview> {
  const { ref, answer } = options;
  // A replica that lags may not have the review yet that another one has shown: that there is none, only the leader can say.
  const history =
    (await tryAnswer(log, options)) ??
    (await tryAnswer({ ...log, reader: createCurrentReader(log) }, options));
  if (!history?.reviewed) throw reviewNotFound();
  const { review, reviewed } = history;
  if (!isSame(reviewed, answer)) throw reviewConflict(reviewed);
  const { decision, reviewer, replacement } = reviewed;
  return {
    ...toReview(ref.generation, review),
    decision,
    reviewer,
    ...(replacement !== undefined && { replacement }),
  };
}

/** @returns what the log says of the review now; undefined when it does not have it */
async function tryAnswer(
  log: Pick<
    GenerationLog,
    "publish" | "requestYield" | "publishCheckpoint" | "maxCheckpointBytes" | "reader" | "leader"
  >,
  { ref, reviewId, answer, reviewer }: AnswerOptions,
): Promise<ReviewHistory | undefined> {
  try {
    const { decision, replacement } = answer;
    const { events } = await appendDecision({
      ...log,
      ref,
      writer: createWriterName(),
      decide: ({ reviews }) =>
        reviews.has(reviewId)
          ? {
              type: "moderation.reviewed",
              review_id: reviewId,
              decision,
              reviewer,
              ...(replacement !== undefined && { replacement }),
            }
          : undefined,
    });
    return historyOf(decodeAll(events), reviewId);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "generation_not_found") return undefined;
    throw error;
  }
}

function isSame({ decision, replacement, reviewer }: ReviewedEvent, answer: ReviewAnswer): boolean {
  return reviewer !== BY_POLICY && decision === answer.decision && replacement === answer.replacement;
}

function reviewConflict({ decision, reviewer }: ReviewedEvent): RepriseError {
  const who = reviewer === BY_POLICY ? "the policy, when its time was up" : reviewer;
  return new RepriseError("review_conflict", `The review has its decision: ${decision}, by ${who}.`, {
    param: "decision",
  });
}
