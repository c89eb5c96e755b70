import type { StreamEvent } from "./stream-event.ts";

/** The channel of the names that tool calls give, beside that of their arguments. */
export const NAME_CHANNEL = "tool_name";

interface Withdrawal {
  readonly from: number;
  readonly to: number;
  /** Undefined for a halt, which takes the text of every channel. */
  readonly channel: string | undefined;
  readonly replacement: string;
  /** True for a halt if a later withdrawal begins before it and runs over it: the halt then has no replacement of its own. */
  passed: boolean;
}

/**
 * Text that moderation has withdrawn, and its replacements: PROTOCOL.md's rule, for one reader. For one log in a page, a list that is searched from its end
 * is enough; the platform's `WithdrawnText` keeps an index for thousands of readers. A property test compares the two.
 */
export class ShownText {
  readonly #withdrawals: Withdrawal[] = [];

  /** @returns whether this one withdraws something, and from which event to which */
  apply(event: StreamEvent): Pick<Withdrawal, "from" | "to"> | undefined {
    const isRange = event.type === "moderation.redacted";
    if (!isRange && event.type !== "moderation.halted") return undefined;
    const { from_seq: from, replacement } = event;
    const to = isRange ? event.to_seq : Infinity;
    const channel = isRange ? (event.channel ?? "0") : undefined;
    if (channel !== NAME_CHANNEL)
      for (const earlier of this.#withdrawals) earlier.passed ||= from < earlier.from && earlier.from <= to;
    const withdrawal = { from, to, channel, replacement, passed: false };
    this.#withdrawals.push(withdrawal);
    return withdrawal;
  }

  /** A text of an event as it is to be shown. */
  of(seq: number, channel: string, text: string): string {
    const last = this.#withdrawals.findLast(
      (one) => one.from <= seq && seq <= one.to && (one.channel ?? channel) === channel,
    );
    if (!last) return text;
    // A halt's replacement appears once, at its first event: for a call in the arguments, not in the name.
    const isElsewhere = last.channel === undefined && (last.passed || channel === NAME_CHANNEL);
    return seq === last.from && !isElsewhere ? last.replacement : "";
  }
}
