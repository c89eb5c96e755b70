import type { KnownEvent } from "@reprise/protocol";
import type { ChannelText, SeqRange } from "./channel-text.ts";

/** Exactly what was found, in UTF-16 offsets of its channel's text. */
export interface Place {
  readonly channel: ChannelText;
  readonly from: number;
  readonly to: number;
}

/** Something that a person is asked about. */
export interface Review extends SeqRange {
  readonly reviewId: string;
  readonly rule: string;
  readonly category: string;
  readonly channelName: string;
  readonly expiresAtMs: number;
  /** Undefined when the rules of today don't find it any more. */
  readonly place: Place | undefined;
}

/** The reviews of one generation: those that the log asks for, and which of them wait. */
export class Reviews {
  readonly #all = new Map<string, Review>();
  readonly #open = new Set<string>();

  get open(): Review[] {
    return [...this.#open].map((id) => this.#all.get(id)!);
  }

  asked(event: Extract<KnownEvent, { type: "moderation.review" }>): void {
    const { review_id: reviewId, from_seq: fromSeq, to_seq: toSeq, rule, category } = event;
    this.#all.set(reviewId, {
      reviewId,
      fromSeq,
      toSeq,
      rule,
      category,
      channelName: event.channel ?? "0",
      expiresAtMs: Date.parse(event.expires_at),
      place: undefined,
    });
    this.#open.add(reviewId);
  }

  /**
   * Takes a finding into the review that asks about its rule in just its events, if one is open: who decides that, decides all of it.
   * @returns whether there is one
   */
  extend({ rule, range }: { rule: string; range: SeqRange }, { channel, from, to }: Place): boolean {
    const review = this.open.find((one) => isAbout(one, channel.name, { rule, range }));
    if (!review) return false;
    const place = review.place?.channel === channel ? review.place : { channel, from, to };
    this.#all.set(review.reviewId, {
      ...review,
      place: { channel, from: Math.min(place.from, from), to: Math.max(place.to, to) },
    });
    return true;
  }

  /** The review that an answer is for; undefined for an unknown one, and for the second answer. */
  answered(reviewId: string): Review | undefined {
    return this.#open.delete(reviewId) ? this.#all.get(reviewId) : undefined;
  }

  /** Whether the log has asked about this before. */
  wasAsked(channelName: string, { rule, range }: { rule: string; range: SeqRange }): boolean {
    return [...this.#all.values()].some((review) => isAbout(review, channelName, { rule, range }));
  }
}

function isAbout(
  review: Review,
  channelName: string,
  { rule, range }: { rule: string; range: SeqRange },
): boolean {
  return (
    review.channelName === channelName &&
    review.rule === rule &&
    review.fromSeq === range.fromSeq &&
    review.toSeq === range.toSeq
  );
}
