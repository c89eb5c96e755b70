import type { KnownEvent, UnknownEvent } from "./event.ts";
import { decodeEvent, encodeEvent } from "./event-codec.ts";

/** What an event says of moderation's withdrawals: a range of text that was replaced, or the end of all text. */
interface Withdrawal {
  /** The event that says so. */
  readonly seq: number;
  readonly fromSeq: number;
  readonly toSeq: number;
  /** Undefined for a halt, which takes the text of every channel. */
  readonly channel: string | undefined;
  readonly replacement: string;
}

/**
 * Which text an event adds to: `"0"`, `"1"`, … for the outputs, `reasoning`, `tool` for the arguments of a call, each a text of its own.
 * Undefined for events without text.
 */
export function channelOf(event: KnownEvent | UnknownEvent): string | undefined {
  const known = event as KnownEvent;
  switch (known.type) {
    case "output.delta":
      return `${known.output ?? 0}`;
    case "reasoning.delta":
      return "reasoning";
    case "tool.call":
      return "tool";
    default:
      return undefined;
  }
}

/** The text of an event that has a channel. */
export function textOf(event: KnownEvent | UnknownEvent): string {
  const known = event as KnownEvent;
  if (known.type === "output.delta" || known.type === "reasoning.delta") return known.text;
  return known.type === "tool.call" ? known.arguments : "";
}

/**
 * What moderation has withdrawn of one log, and how the log reads without it. A range is replaced as a whole: its first event carries
 * the replacement and the others nothing, so whoever joins the texts of the events has what was not withdrawn. Where ranges overlap,
 * the last one counts, for the event that told of an earlier one too: what that has left standing may be withdrawn by now.
 */
export class Withdrawals {
  #list: Withdrawal[] = [];
  #lowest = Number.POSITIVE_INFINITY;

  get isEmpty(): boolean {
    return this.#list.length === 0;
  }

  /**
   * Takes one event of the log, in the log's order.
   * @returns the events that read differently from now on; undefined when none do
   */
  apply(event: KnownEvent | UnknownEvent): { readonly fromSeq: number; readonly toSeq: number } | undefined {
    const withdrawal = toWithdrawal(event as KnownEvent);
    if (!withdrawal) return undefined;
    const { fromSeq, toSeq } = withdrawal;
    const retold = this.#list.filter((one) => one.fromSeq <= toSeq && one.toSeq >= fromSeq);
    this.#list.push(withdrawal);
    this.#lowest = Math.min(this.#lowest, fromSeq);
    return { fromSeq, toSeq: Math.max(toSeq, ...retold.map(({ seq }) => seq)) };
  }

  /** The text of an event as it is to be shown; undefined where nothing of it was withdrawn. */
  replacementOf(seq: number, channel: string): string | undefined {
    if (seq < this.#lowest) return undefined;
    const found = this.#list.findLast(
      (one) => seq >= one.fromSeq && seq <= one.toSeq && (one.channel ?? channel) === channel,
    );
    if (!found) return undefined;
    return seq === found.fromSeq && !this.#isPassedOver(found) ? found.replacement : "";
  }

  /**
   * Whether a later range of one channel runs over the place where a halt has begun. What the halt's event may still say of that place is
   * nothing then (`#retold`), whatever channel it is of, so nothing stands there for anybody.
   */
  #isPassedOver({ seq, fromSeq, channel }: Withdrawal): boolean {
    if (channel !== undefined) return false;
    return this.#list.some((one) => one.seq > seq && one.fromSeq < fromSeq && one.toSeq >= fromSeq);
  }

  /** An encoded event as it is to be shown: the bytes themselves where nothing of it was withdrawn. */
  project(seq: number, payload: Uint8Array): Uint8Array {
    if (seq < this.#lowest) return payload;
    const event = decodeEvent(payload) as KnownEvent;
    if (event.type === "moderation.redacted" || event.type === "moderation.halted") {
      const replacement = this.#retold(event);
      return replacement === event.replacement ? payload : encodeEvent(seq, { ...event, replacement });
    }
    const channel = channelOf(event);
    const text = channel === undefined ? undefined : this.replacementOf(seq, channel);
    if (text === undefined) return payload;
    const shown =
      event.type === "tool.call"
        ? { ...event, arguments: text, redacted: true }
        : { ...event, text, redacted: true };
    return encodeEvent(seq, shown);
  }

  /** What an event that withdraws something may say of what stands there. */
  #retold({ seq, replacement, ...event }: WithdrawingEvent): string {
    const { from_seq: fromSeq } = event;
    const channel = event.type === "moderation.redacted" ? (event.channel ?? "0") : undefined;
    const later = this.#list.findLast(
      (one) =>
        one.seq > seq &&
        fromSeq >= one.fromSeq &&
        fromSeq <= one.toSeq &&
        (channel === undefined || (one.channel ?? channel) === channel),
    );
    if (!later) return replacement;
    return later.fromSeq === fromSeq ? later.replacement : "";
  }
}

type WithdrawingEvent = Extract<KnownEvent, { type: "moderation.redacted" | "moderation.halted" }>;

function toWithdrawal(event: KnownEvent): Withdrawal | undefined {
  if (event.type === "moderation.redacted") {
    const { seq, from_seq: fromSeq, to_seq: toSeq, replacement, channel = "0" } = event;
    return { seq, fromSeq, toSeq, channel, replacement };
  }
  if (event.type === "moderation.halted") {
    const { seq, from_seq: fromSeq, replacement } = event;
    return { seq, fromSeq, toSeq: Number.POSITIVE_INFINITY, channel: undefined, replacement };
  }
  return undefined;
}
