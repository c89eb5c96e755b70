import {
  type EffectiveModeration,
  type EventDraft,
  type ModerationAction,
  reviewIdOf,
} from "@reprise/protocol";
import type { ChannelText, SeqRange } from "./channel-text.ts";

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

/**
 * The event that carries out what is wanted.
 * @param nextSeq the place that it will have
 * @param nowMs since 1970: when a review begins to wait
 */
export function draftDecision(
  { action, channel, rule, category, range, from, reviewId }: Wanted,
  { moderation, nextSeq, nowMs }: { moderation: EffectiveModeration; nextSeq: number; nowMs: number },
): EventDraft {
  const said = { rule, category, ...(reviewId !== undefined && { review_id: reviewId }) };
  const ofChannel = channel.name === "0" ? {} : { channel: channel.name };
  switch (action) {
    case "halt": {
      const { fromSeq } = channel.widened({ ...range, toSeq: range.fromSeq });
      const replacement = `${channel.masked({ ...range, fromSeq }, from)}${moderation.replacement}`;
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
