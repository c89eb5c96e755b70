import type { Seq } from "../seq.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { decodeEvent, encodeEvent } from "./event-codec.ts";
import type { SeqRange, Withdrawal } from "./withdrawn-ranges.ts";
import { NAME_CHANNEL, WithdrawnText } from "./withdrawn-text.ts";

/** Whether events of a type add to a text: those that have a channel. */
export function hasText(type: string): boolean {
  return type === "output.delta" || type === "reasoning.delta" || type === "tool.call";
}

/**
 * Which text an event adds to: `"0"`, `"1"`, … for the outputs, `reasoning`, `tool` for the arguments of a call, each a text of its own.
 * Undefined for events without text. A call has a second text, its name: `NAME_CHANNEL`.
 */
export function channelOf(event: TextEvent): string;
export function channelOf(event: KnownEvent | UnknownEvent): string | undefined;
export function channelOf(event: KnownEvent | UnknownEvent): string | undefined {
  switch (event.type) {
    case "output.delta":
      return `${event.output ?? 0}`;
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
  if (event.type === "output.delta" || event.type === "reasoning.delta") return event.text;
  return event.type === "tool.call" ? event.arguments : "";
}

/** What an event adds to a channel; undefined where it is of another one. */
export function textIn(event: KnownEvent | UnknownEvent, channel: string): string | undefined {
  if (channel === NAME_CHANNEL) return event.type === "tool.call" ? event.name : undefined;
  return channelOf(event) === channel ? textOf(event) : undefined;
}

/**
 * What moderation has withdrawn of one log, and how the log reads without it: an event that tells of a withdrawal too, for what that has
 * left standing may be withdrawn by now.
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
    if (seq < this.lowest) return payload;
    const event = decodeEvent(payload);
    if (event.type === "moderation.redacted" || event.type === "moderation.halted") {
      const replacement = this.#retold(event);
      return replacement === event.replacement ? payload : encodeEvent(seq, { ...event, replacement });
    }
    if (event.type === "tool.call") return this.#projectCall(event, payload);
    if (event.type !== "output.delta" && event.type !== "reasoning.delta") return payload;
    const text = this.replacementOf(seq, channelOf(event));
    if (text === undefined) return payload;
    const shown = { ...event, text, redacted: true };
    return encodeEvent(seq, shown);
  }

  #projectCall(event: ToolCallEvent, payload: Uint8Array): Uint8Array {
    const { seq } = event;
    const name = this.replacementOf(seq, NAME_CHANNEL);
    const text = this.replacementOf(seq, "tool");
    if (name === undefined && text === undefined) return payload;
    const shown = { name: name ?? event.name, arguments: text ?? event.arguments, redacted: true };
    return encodeEvent(seq, { ...event, ...shown });
  }

  /** What an event that withdraws something may say of what stands there. */
  #retold({ seq, replacement, ...event }: WithdrawingEvent): string {
    const { from_seq: fromSeq } = event;
    const channel = event.type === "moderation.redacted" ? (event.channel ?? "0") : undefined;
    const last = this.lastAt(fromSeq, channel);
    if (!last || last.seq <= seq) return replacement;
    if (channel === NAME_CHANNEL && last.channel === undefined) return "";
    return last.fromSeq === fromSeq ? last.replacement : "";
  }
}

type ToolCallEvent = Extract<KnownEvent, { type: "tool.call" }>;
type TextEvent = Extract<KnownEvent, { type: "output.delta" | "reasoning.delta" | "tool.call" }>;
type WithdrawingEvent = Extract<KnownEvent, { type: "moderation.redacted" | "moderation.halted" }>;
