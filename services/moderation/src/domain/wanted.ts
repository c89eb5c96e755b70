import {
  type EffectiveModeration,
  type EventDraft,
  type ModerationAction,
  reviewIdOf,
} from "@reprise/protocol";
import type { ChannelText, SeqRange } from "./channel-text.ts";
import type { Place } from "./reviews.ts";

/** Something that was found, and what has to follow from it in the log. */
export interface Wanted {
  readonly action: Exclude<ModerationAction, "flag">;
  readonly channel: ChannelText;
  readonly rule: string;
  readonly category: string;
  readonly from: number;
  readonly to: number;
  /** As the finding lies; a redaction may have to be wider. */
  readonly range: SeqRange;
  readonly reviewId?: string;
}

interface DraftOptions {
  readonly moderation: EffectiveModeration;
  readonly nextSeq: number;
  readonly nowMs: number;
  readonly openPlaces: readonly Place[];
}

/**
 * The event that carries out what is wanted.
 * @param nextSeq the place that it will have
 * @param nowMs since 1970: when a review begins to wait
 * @param openPlaces what people are asked about: a halt leaves nothing of it standing
 */
export function draftDecision(
  { action, channel, rule, category, range, from, reviewId }: Wanted,
  { moderation, nextSeq, nowMs, openPlaces }: DraftOptions,
): EventDraft {
  const said = { rule, category, ...(reviewId !== undefined && { review_id: reviewId }) };
  const ofChannel = channel.name === "0" ? {} : { channel: channel.name };
  switch (action) {
    case "halt": {
      const { fromSeq } = channel.widened({ ...range, toSeq: range.fromSeq });
      const until = Math.min(
        from,
        ...openPlaces.filter((open) => open.channel === channel).map((open) => open.from),
      );
      const replacement = `${channel.masked({ ...range, fromSeq }, until)}${moderation.replacement}`;
      return { type: "moderation.halted", from_seq: fromSeq, replacement, ...said };
    }
    case "redact": {
      const wide = channel.widened(range);
      const place = { from_seq: wide.fromSeq, to_seq: wide.toSeq, replacement: channel.masked(wide) };
      return { type: "moderation.redacted", ...place, ...said, ...ofChannel };
    }
    case "review":
      return {
        type: "moderation.review",
        review_id: reviewIdOf(nextSeq),
        from_seq: range.fromSeq,
        to_seq: range.toSeq,
        rule,
        category,
        ...ofChannel,
        expires_at: new Date(nowMs + moderation.review.after_ms).toISOString(),
      };
  }
}
