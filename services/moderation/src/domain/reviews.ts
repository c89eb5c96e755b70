import { type KnownEvent, type SeqRange, type UnixMs, toUnixMs } from "@reprise/protocol";
import type { ChannelText } from "./text/channel-text.ts";

export type ReviewEvent = Extract<KnownEvent, { type: "moderation.review" }>;

/** Exactly what was found, in UTF-16 offsets of its channel's text. */
export interface Place {
  readonly channel: ChannelText;
  readonly from: number;
  readonly to: number;
}

/** A range of the joined text of some events, in UTF-16 offsets of that. */
export interface Offsets {
  readonly from: number;
  readonly to: number;
}

/** Something that a person is asked about. */
export interface Review extends SeqRange {
  readonly reviewId: string;
  readonly rule: string;
  readonly category: string;
  readonly channelName: string;
  /** Undefined for one of an older log: that asks about all matches of its rule in its events. */
  readonly offsets: Offsets | undefined;
  readonly expiresAtMs: UnixMs;
  /** Undefined when the rules of today don't find it any more. */
  readonly place: Place | undefined;
}

/** The subject of a finding, as named in a review. */
interface Subject {
  readonly rule: string;
  readonly range: SeqRange;
  readonly offsets: Offsets | undefined;
}

/** The reviews of one generation: those that the log asks for, and which of them wait. */
export class Reviews {
  /** Those without a decision, by their ids. */
  readonly #open = new Map<string, Review>();
  /** The ids of all, by what they ask about. */
  readonly #ids = new Map<string, string>();
  #list: readonly Review[] | undefined;

  get open(): readonly Review[] {
    this.#list ??= [...this.#open.values()];
    return this.#list;
  }

  asked(event: ReviewEvent): void {
    const { review_id: reviewId, from_seq: fromSeq, to_seq: toSeq, rule, category } = event;
    const channelName = event.channel ?? "0";
    const offsets = offsetsOf(event);
    this.#ids.set(keyOf(channelName, { rule, range: { fromSeq, toSeq }, offsets }), reviewId);
    this.#put({
      reviewId,
      fromSeq,
      toSeq,
      rule,
      category,
      channelName,
      offsets,
      expiresAtMs: toUnixMs(event.expires_at),
      place: undefined,
    });
  }

  /**
   * Takes a finding into the open review that asks about it. One without offsets asks about everything of its rule in just its events: who
   * decides that, decides all of it.
   * @returns whether there is one
   */
  take(subject: Subject, { channel, from, to }: Place): boolean {
    const review = this.#open.get(this.#idOf(channel.name, subject) ?? "");
    if (!review) return false;
    const isMore = review.offsets === undefined && review.place?.channel === channel;
    const place = isMore ? review.place : { from, to };
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

  /** True if the log has a review of this already. */
  wasAsked(channelName: string, subject: Subject): boolean {
    return this.#idOf(channelName, subject) !== undefined;
  }

  #idOf(channelName: string, subject: Subject): string | undefined {
    const exact = this.#ids.get(keyOf(channelName, subject));
    return exact ?? this.#ids.get(keyOf(channelName, { ...subject, offsets: undefined }));
  }

  #put(review: Review): void {
    this.#open.set(review.reviewId, review);
    this.#list = undefined;
  }
}

/** The range that offsets name within another one; all of that where there are none. */
export function within(stretch: Offsets, offsets: Offsets | undefined): Offsets {
  return offsets ? { from: stretch.from + offsets.from, to: stretch.from + offsets.to } : stretch;
}

function offsetsOf({ from_offset: from, to_offset: to }: ReviewEvent): Offsets | undefined {
  return from === undefined || to === undefined ? undefined : { from, to };
}

function keyOf(channelName: string, { rule, range, offsets }: Subject): string {
  const place = offsets ? `${offsets.from} ${offsets.to}` : "all";
  return `${channelName} ${rule} ${range.fromSeq} ${range.toSeq} ${place}`;
}
