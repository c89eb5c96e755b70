import {
  decodeEvent,
  type GenerationId,
  type GenerationRef,
  isKnownEvent,
  type KnownEvent,
  parseGenerationId,
  RepriseError,
  type ReviewDecision,
  type TenantId,
  type UnknownEvent,
  type Seq,
} from "@reprise/protocol";

export type ReviewEvent = Extract<KnownEvent, { type: "moderation.review" }>;
export type ReviewedEvent = Extract<KnownEvent, { type: "moderation.reviewed" }>;

/** A review, in the form that the API returns. */
export interface Review {
  /** `<generation>.<review id>`: a review's own id is one of its generation alone. */
  readonly id: string;
  readonly object: "review";
  readonly generation: GenerationId;
  readonly rule: string;
  readonly category: string;
  readonly channel: string;
  readonly from_seq: Seq;
  readonly to_seq: Seq;
  /** Where in the text of these events the match begins and ends, in UTF-16 code units. Absent of those that ask about all of it. */
  readonly from_offset?: number;
  readonly to_offset?: number;
  readonly expires_at: string;
}

/** A person's decision. */
export interface ReviewAnswer {
  readonly decision: ReviewDecision;
  /** For `edit` alone: text that replaces the range. */
  readonly replacement?: string | undefined;
}

/** One review of a log, and the first decision about it. */
export interface ReviewHistory {
  readonly review: ReviewEvent;
  readonly reviewed: ReviewedEvent | undefined;
}

export function toReview(generation: GenerationId, event: ReviewEvent): Review {
  const {
    review_id,
    rule,
    category,
    channel = "0",
    from_seq,
    to_seq,
    from_offset,
    to_offset,
    expires_at,
  } = event;
  return {
    id: `${generation}.${review_id}`,
    object: "review",
    generation,
    rule,
    category,
    channel,
    from_seq,
    to_seq,
    ...(from_offset !== undefined && { from_offset }),
    ...(to_offset !== undefined && { to_offset }),
    expires_at,
  };
}

/** @throws RepriseError `review_not_found`: an id that we did not make belongs to no review */
export function parseReviewId(tenant: TenantId, id: string): { ref: GenerationRef; reviewId: string } {
  const dot = id.indexOf(".");
  try {
    return { ref: { tenant, generation: parseGenerationId(id.slice(0, dot)) }, reviewId: id.slice(dot + 1) };
  } catch {
    throw reviewNotFound();
  }
}

export function decodeAll(payloads: readonly Uint8Array[]): (KnownEvent | UnknownEvent)[] {
  return payloads.map((payload) => decodeEvent(payload));
}

/** Returns the history of one review in a log; undefined if the log does not have it. */
export function historyOf(
  events: readonly (KnownEvent | UnknownEvent)[],
  reviewId: string,
): ReviewHistory | undefined {
  let review: ReviewEvent | undefined;
  for (const event of events.filter(isKnownEvent)) {
    if (event.type === "moderation.review" && event.review_id === reviewId) review = event;
    else if (event.type === "moderation.reviewed" && event.review_id === reviewId && review)
      return { review, reviewed: event };
  }
  return review && { review, reviewed: undefined };
}

export function reviewNotFound(): RepriseError {
  return new RepriseError("review_not_found", "There is no review with this id.", { param: "id" });
}
