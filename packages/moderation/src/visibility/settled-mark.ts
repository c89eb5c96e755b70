import { BEYOND_LOG, type KnownEvent, plus, REQUEST_SEQ, type Seq, type SeqRange } from "@reprise/protocol";

export type ReviewStep = Extract<KnownEvent, { type: "moderation.review" | "moderation.reviewed" }>;

/** Text that a person was asked about. */
interface HeldReview extends SeqRange {
  readonly channel: string;
  /** The event that tells what was decided; undefined while nothing was. */
  decidedBy: Seq | undefined;
}

/** Result of the verdicts so far, as far as the decisions that they name are known. */
export interface SettledVerdict {
  readonly judged: Seq;
  readonly cleared: Seq;
}

/**
 * Tracks how far a log with `retract` is settled: the part that a `gate` would show. Verdicts clear text that was judged. They also clear text under
 * review, because readers of `retract` have seen it, so reviews are followed here. A review holds its text until moderation has judged the event that
 * decides it: by then the log has the resulting events. Settled events stay settled.
 */
export class SettledMark {
  readonly #widened: (range: SeqRange, channel: string) => SeqRange;
  readonly #reviews = new Map<string, HeldReview>();
  #seq: Seq = REQUEST_SEQ;

  /** @param widened a range with the withdrawn ranges that it touches: the first event of those tells what is left of all */
  constructor(widened: (range: SeqRange, channel: string) => SeqRange) {
    this.#widened = widened;
  }

  get seq(): Seq {
    return this.#seq;
  }

  took(event: ReviewStep): void {
    if (event.type === "moderation.review") {
      const { review_id: id, from_seq: fromSeq, to_seq: toSeq, channel = "0" } = event;
      if (!this.#reviews.has(id)) this.#reviews.set(id, { fromSeq, toSeq, channel, decidedBy: undefined });
      return;
    }
    const review = this.#reviews.get(event.review_id);
    if (review) review.decidedBy ??= event.seq;
  }

  /** Takes what verdicts say of a log whose last event here is `lastSeq`. */
  update(lastSeq: Seq, { judged, cleared }: SettledVerdict): void {
    // Of the events that were judged and have not come, one may ask for a review.
    if (judged > lastSeq) return;
    let heldFrom = BEYOND_LOG;
    for (const [id, review] of this.#reviews) {
      if (review.decidedBy !== undefined && judged >= review.decidedBy) this.#reviews.delete(id);
      else heldFrom = Math.min(heldFrom, this.#widened(review, review.channel).fromSeq);
    }
    this.#seq = Math.max(this.#seq, Math.min(cleared, plus(heldFrom, -1)));
  }
}
