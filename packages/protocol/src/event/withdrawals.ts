import type { Seq } from "../seq.ts";
import type { KnownEvent } from "./event.ts";
import { decodeEvent, encodeEvent, peekType } from "./event-codec.ts";
import { withdrawnForm } from "./text-table.ts";
import type { SeqRange, Withdrawal } from "./withdrawn-ranges.ts";
import { NAME_CHANNEL, WithdrawnText } from "./withdrawn-text.ts";

/** Events that may hold what is sealed. */
const SEALING: ReadonlySet<string> = new Set(["reasoning.sealed", "tool.call"]);

/**
 * Withdrawals of moderation in one log, applied to its events. They also apply to an event that reports a withdrawal, because its replacement may have been
 * withdrawn since.
 */
export class Withdrawals extends WithdrawnText {
  /** The range with every earlier one of the channel that it touches, as far as no later one lies over that. */
  widened(range: SeqRange, channel: string): SeqRange {
    return this.ranges.get(channel)?.widened(range) ?? range;
  }

  /** The last redaction of a channel's text at a place. */
  redactionAt(seq: Seq, channel: string): Withdrawal | undefined {
    return this.ranges.get(channel)?.at(seq);
  }

  /** An encoded event as it is to be shown: the bytes themselves where nothing of it was withdrawn. */
  project(seq: Seq, payload: Uint8Array): Uint8Array {
    const isBefore = seq < this.lowest;
    if (isBefore && !(this.isReasoningTaken && SEALING.has(peekType(payload)))) return payload;
    const event = decodeEvent(payload);
    if (event.type === "moderation.redacted" || event.type === "moderation.halted") {
      const replacement = this.#retold(event);
      return replacement === event.replacement ? payload : encodeEvent(seq, { ...event, replacement });
    }
    const shown = withdrawnForm(event, (channel) => this.replacementOf(seq, channel));
    return shown ? encodeEvent(seq, shown) : payload;
  }

  /** Returns the replacement that a withdrawing event may show. */
  #retold({ seq, replacement, ...event }: WithdrawingEvent): string {
    const { from_seq: fromSeq } = event;
    const channel = event.type === "moderation.redacted" ? (event.channel ?? "0") : undefined;
    const last = this.lastAt(fromSeq, channel);
    if (!last || last.seq <= seq) return replacement;
    if (channel === NAME_CHANNEL && last.channel === undefined) return "";
    return last.fromSeq === fromSeq ? last.replacement : "";
  }
}

type WithdrawingEvent = Extract<KnownEvent, { type: "moderation.redacted" | "moderation.halted" }>;
