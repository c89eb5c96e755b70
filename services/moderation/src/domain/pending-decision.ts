import {
  type EffectiveModeration,
  type GenerationEventDraft,
  type ModerationAction,
  reviewIdOf,
  type SeqRange,
  type Withdrawals,
  type Seq,
  plus,
  type UnixMs,
} from "@reprise/protocol";
import type { ChannelText } from "./text/channel-text.ts";
import type { Reviews } from "./reviews.ts";

/** A classifier's finding in a range of whole events. */
export interface ClassifierFinding extends SeqRange {
  readonly rule: string;
  readonly category: string;
  readonly action: ModerationAction;
  readonly channel: string;
}

/** Something that was found, and what has to follow from it in the log. */
export interface PendingDecision {
  readonly action: Exclude<ModerationAction, "flag">;
  readonly channel: ChannelText;
  readonly rule: string;
  readonly category: string;
  readonly from: number;
  readonly to: number;
  /** The range of the finding; a redaction may have to be wider. */
  readonly range: SeqRange;
  readonly reviewId?: string;
}

interface DraftOptions {
  readonly moderation: EffectiveModeration;
  readonly withdrawals: Withdrawals;
  readonly reviews: Reviews;
  readonly nextSeq: Seq;
  readonly nowMs: UnixMs;
}

/** Where what is wanted has to be told: in every event that earlier withdrawals have told together with those of the finding. */
export function withdrawalRange(
  { range, channel }: Pick<PendingDecision, "range" | "channel">,
  withdrawals: Withdrawals,
): SeqRange {
  const { fromSeq, toSeq } = withdrawals.widened(range, channel.name);
  return { fromSeq: Math.max(fromSeq, channel.fromSeq), toSeq };
}

/**
 * Returns the decisions for a text that a rewind has cut: the new text decides about the kept part, as the old one would reveal rewound text there.
 * For the same reason, an earlier redaction of that part has to be made again.
 */
export function splitAtRewind(
  wanted: readonly PendingDecision[],
  {
    old,
    kept,
    toSeq,
    withdrawals,
  }: { old: ChannelText; kept: ChannelText; toSeq: Seq; withdrawals: Withdrawals },
): PendingDecision[] {
  const all = wanted.flatMap((one) => {
    const { range } = one;
    if (one.channel !== old || one.action !== "redact" || range.fromSeq > toSeq) return [one];
    const before = { ...one, channel: kept, range: { ...range, toSeq: Math.min(range.toSeq, toSeq) } };
    return range.toSeq > toSeq ? [before, { ...one, range: { ...range, fromSeq: old.fromSeq } }] : [before];
  });
  const told = withdrawals.redactionAt(toSeq, old.name);
  if (!told || told.toSeq <= toSeq) return all;
  const range = { fromSeq: told.fromSeq, toSeq };
  return [
    ...all,
    { action: "redact", channel: kept, rule: told.rule, category: told.category, from: 0, to: 0, range },
  ];
}

export function overlap(a: SeqRange, b: SeqRange): boolean {
  return a.fromSeq <= b.toSeq && b.fromSeq <= a.toSeq;
}

/** A range that earlier withdrawals would make longer than this is cut where the finding begins. */
const LONGEST_WIDENED = 16;

/**
 * The event that carries out what is wanted, or a part of it: then the judge asks for the rest.
 * @param withdrawals what the log has withdrawn so far
 * @param reviews what people are asked about: a halt leaves nothing of it standing
 * @param nextSeq the place that it will have
 * @param nowMs since 1970: when a review begins to wait
 */
export function draftDecision(
  wanted: PendingDecision,
  { moderation, withdrawals, reviews, nextSeq, nowMs }: DraftOptions,
): GenerationEventDraft {
  const { action, channel, rule, category, range, from, reviewId } = wanted;
  const said = { rule, category, ...(reviewId !== undefined && { review_id: reviewId }) };
  const ofChannel = channel.name === "0" ? {} : { channel: channel.name };
  switch (action) {
    case "halt": {
      const { fromSeq } = withdrawals.widened({ ...range, toSeq: range.fromSeq }, channel.name);
      const asked = reviews.open.flatMap(({ place }) => (place?.channel === channel ? [place.from] : []));
      const until = asked.reduce((first, at) => Math.min(first, at), from);
      const replacement = `${channel.masked({ ...range, fromSeq }, until)}${moderation.replacement}`;
      return { type: "moderation.halted", from_seq: fromSeq, replacement, ...said };
    }
    case "redact": {
      const { fromSeq, toSeq } = nextPart(wanted, withdrawals);
      const place = { from_seq: fromSeq, to_seq: toSeq, replacement: channel.masked({ fromSeq, toSeq }) };
      return { type: "moderation.redacted", ...place, ...said, ...ofChannel };
    }
    case "review": {
      const offsets = channel.offsetsIn(range, wanted);
      return {
        type: "moderation.review",
        review_id: reviewIdOf(nextSeq),
        from_seq: range.fromSeq,
        to_seq: range.toSeq,
        from_offset: offsets.from,
        to_offset: offsets.to,
        rule,
        category,
        ...ofChannel,
        expires_at: new Date(nowMs + moderation.review.after_ms).toISOString(),
      };
    }
  }
}

/**
 * A redaction is told in parts that end where its text was settled: a part that readers were shown must not tell of one that is held.
 *
 * A part takes in what earlier ones have withdrawn of the same events, for a replacement holds all that is left of its range. Where
 * each match begins in the event that the last one ended in, that would be told again and again, and ever longer: there what
 * comes before the finding is told by itself once more, and the next range begins with the finding.
 */
function nextPart(wanted: PendingDecision, withdrawals: Withdrawals): SeqRange {
  const { channel, range } = wanted;
  const parts = channel.partsOf(withdrawalRange(wanted, withdrawals));
  const untold = parts.find((part) => channel.masked(part) !== channel.shown(part, withdrawals));
  // A range has at least one part.
  const wide = untold ?? parts.at(-1)!;
  const isLong = wide.toSeq - wide.fromSeq >= LONGEST_WIDENED && wide.fromSeq < range.fromSeq;
  return isLong ? { fromSeq: wide.fromSeq, toSeq: plus(range.fromSeq, -1) } : wide;
}
