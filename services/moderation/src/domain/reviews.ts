import type { KnownEvent, SeqRange } from "@reprise/protocol";
import type { ChannelText } from "./channel-text.ts";

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
  /** Those that nobody has answered, by their ids. */
  readonly #open = new Map<string, Review>();
  /** The ids of all, by what they ask about. */
  readonly #ids = new Map<string, string>();
  #list: readonly Review[] | undefined;

  get open(): readonly Review[] {
    this.#list ??= [...this.#open.values()];
    return this.#list;
  }

  asked(event: Extract<KnownEvent, { type: "moderation.review" }>): void {
    const { review_id: reviewId, from_seq: fromSeq, to_seq: toSeq, rule, category } = event;
    const channelName = event.channel ?? "0";
    this.#ids.set(keyOf(channelName, { rule, range: { fromSeq, toSeq } }), reviewId);
    this.#put({
      reviewId,
      fromSeq,
      toSeq,
      rule,
      category,
      channelName,
      expiresAtMs: Date.parse(event.expires_at),
      place: undefined,
    });
  }

  /**
   * Takes a finding into the review that asks about its rule in just its events, if one is open: who decides that, decides all of it.
   * @returns whether there is one
   */
  extend({ rule, range }: { rule: string; range: SeqRange }, { channel, from, to }: Place): boolean {
    const review = this.#open.get(this.#ids.get(keyOf(channel.name, { rule, range })) ?? "");
    if (!review) return false;
    const place = review.place?.channel === channel ? review.place : { channel, from, to };
    this.#put({
      ...review,
      place: { channel, from: Math.min(place.from, from), to: Math.max(place.to, to) },
    });
    return true;
  }

  /** The review that an answer is for; undefined for an unknown one, and for the second answer. */
  answered(reviewId: string): Review | undefined {
    const review = this.#open.get(reviewId);
    this.#open.delete(reviewId);
    this.#list = undefined;
    return review;
  }

  /** Whether the log has asked about this before. */
  wasAsked(channelName: string, { rule, range }: { rule: string; range: SeqRange }): boolean {
    return this.#ids.has(keyOf(channelName, { rule, range }));
  }

  #put(review: Review): void {
    this.#open.set(review.reviewId, review);
    this.#list = undefined;
  }
}

function keyOf(channelName: string, { rule, range }: { rule: string; range: SeqRange }): string {
  return `${channelName} ${rule} ${range.fromSeq} ${range.toSeq}`;
}
