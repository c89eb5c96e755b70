import type { KnownEvent, UnknownEvent } from "./event.ts";
import { decodeEvent, encodeEvent } from "./event-codec.ts";
import { firstWhere } from "./first-where.ts";
import { type SeqRange, type Withdrawal, WithdrawnRanges } from "./withdrawn-ranges.ts";

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
  readonly #ranges = new Map<string, WithdrawnRanges>();
  readonly #halts: Withdrawal[] = [];
  /** Halts in whose place nothing stands: a later withdrawal that began before it runs over it. */
  readonly #passedOver = new Set<Withdrawal>();
  /** All withdrawals, by where they begin. */
  readonly #told: Withdrawal[] = [];

  get isEmpty(): boolean {
    return this.#told.length === 0;
  }

  /**
   * Takes one event of the log, in the log's order.
   * @returns the events that read differently from now on: what is withdrawn, and what has told of the same places before; none for most
   */
  apply(event: KnownEvent | UnknownEvent): readonly SeqRange[] {
    const withdrawal = toWithdrawal(event as KnownEvent);
    if (!withdrawal) return NOTHING;
    const { fromSeq, toSeq, channel } = withdrawal;
    for (const halt of this.#halts)
      if (halt.fromSeq > fromSeq && halt.fromSeq <= toSeq) this.#passedOver.add(halt);
    if (channel === undefined) this.#halts.push(withdrawal);
    else this.#rangesOf(channel).lay(withdrawal);
    const changed: SeqRange[] = [{ fromSeq, toSeq }];
    const [from, to] = [this.#toldFrom(fromSeq), this.#toldFrom(toSeq + 1)];
    for (const { seq, channel: other } of this.#told.slice(from, to)) {
      const isAlike = channel === other || channel === undefined || other === undefined;
      if (isAlike && seq > toSeq) changed.push({ fromSeq: seq, toSeq: seq });
    }
    this.#told.splice(this.#toldFrom(fromSeq + 1), 0, withdrawal);
    return changed;
  }

  /** The text of an event as it is to be shown; undefined where nothing of it was withdrawn. */
  replacementOf(seq: number, channel: string): string | undefined {
    if (seq < this.#lowest) return undefined;
    const found = this.#lastAt(seq, channel);
    if (!found) return undefined;
    return seq === found.fromSeq && !this.#passedOver.has(found) ? found.replacement : "";
  }

  /** The range with every earlier one of the channel that it touches, as far as no later one lies over that. */
  widened(range: SeqRange, channel: string): SeqRange {
    return this.#ranges.get(channel)?.widened(range) ?? range;
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
    const last =
      channel === undefined
        ? later(...[...this.#ranges.keys()].map((one) => this.#lastAt(fromSeq, one)), this.#haltAt(fromSeq))
        : this.#lastAt(fromSeq, channel);
    if (!last || last.seq <= seq) return replacement;
    return last.fromSeq === fromSeq ? last.replacement : "";
  }

  /** The last withdrawal that takes the text of a channel at a place. */
  #lastAt(seq: number, channel: string): Withdrawal | undefined {
    return later(this.#ranges.get(channel)?.at(seq), this.#haltAt(seq));
  }

  #haltAt(seq: number): Withdrawal | undefined {
    return this.#halts.findLast(({ fromSeq }) => fromSeq <= seq);
  }

  get #lowest(): number {
    return this.#told[0]?.fromSeq ?? Number.POSITIVE_INFINITY;
  }

  #rangesOf(channel: string): WithdrawnRanges {
    const ranges = this.#ranges.get(channel) ?? new WithdrawnRanges();
    this.#ranges.set(channel, ranges);
    return ranges;
  }

  /** The index of the first withdrawal that begins at a place or behind it. */
  #toldFrom(seq: number): number {
    return firstWhere(this.#told, ({ fromSeq }) => fromSeq >= seq);
  }
}

const NOTHING: readonly SeqRange[] = [];

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

/** The one that the log has last. */
function later(...withdrawals: readonly (Withdrawal | undefined)[]): Withdrawal | undefined {
  let last: Withdrawal | undefined;
  for (const one of withdrawals) if (one && (!last || one.seq > last.seq)) last = one;
  return last;
}
