import type { Seq } from "../seq.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { firstWhere } from "../first-where.ts";
import { type SeqRange, type Withdrawal, WithdrawnRanges } from "./withdrawn-ranges.ts";

/** The channel of the names that tool calls give, beside that of their arguments. */
export const NAME_CHANNEL = "tool_name";

/** The channel of what a model has made beside words. */
export const BLOB_CHANNEL = "blob";

/** That of what its engine alone can read: sealed reasoning, and a call's provider state. Moderation can't judge it: it goes with the reasoning that readers are shown. */
export const SEALED_CHANNEL = "sealed";

/** Text of reasoning, or in its place. */
const REASONING_CHANNELS = ["reasoning", "reasoning_summary"] as const;
const ALL: SeqRange = { fromSeq: 0 as Seq, toSeq: Number.POSITIVE_INFINITY as Seq };

/**
 * Withdrawals of moderation in one log, and the replacements. A range is replaced as a whole: its first event carries the replacement and the others nothing,
 * so the joined texts of the events are the text that was not withdrawn. If ranges overlap, the last one counts.
 *
 * Folding a log needs only this, in a browser too; `Withdrawals` has the rest.
 */
export class WithdrawnText {
  protected readonly ranges = new Map<string, WithdrawnRanges>();
  readonly #halts: Withdrawal[] = [];
  /** Halts without a replacement: a later withdrawal that began before such a halt covers it. */
  readonly #passedOver = new Set<Withdrawal>();
  /** All withdrawals, by where they begin. */
  readonly #told: Withdrawal[] = [];
  #isReasoningTaken = false;

  get isEmpty(): boolean {
    return this.#told.length === 0;
  }

  /** True if no sealed reasoning is shown: any of it may hold reasoning that was withdrawn. */
  get isReasoningTaken(): boolean {
    return this.#isReasoningTaken;
  }

  /**
   * Takes one event of the log, in the log's order.
   * @returns the events that read differently from now on: what is withdrawn, and what has told of the same places before; none for most
   */
  apply(event: KnownEvent | UnknownEvent): readonly SeqRange[] {
    const withdrawal = toWithdrawal(event);
    if (!withdrawal) return NOTHING;
    const { fromSeq, toSeq, channel } = withdrawal;
    // A halt's replacement takes the place of a call's arguments, so withdrawals of names do not affect it.
    for (const halt of channel === NAME_CHANNEL ? [] : this.#halts)
      if (halt.fromSeq > fromSeq && halt.fromSeq <= toSeq) this.#passedOver.add(halt);
    if (channel === undefined) this.#halts.push(withdrawal);
    else this.#rangesOf(channel).lay(withdrawal);
    const changed: SeqRange[] = [{ fromSeq, toSeq }];
    const [from, to] = [this.#toldFrom(fromSeq), this.#toldFrom((toSeq + 1) as Seq)];
    for (const { seq, channel: other } of this.#told.slice(from, to)) {
      const isAlike = channel === other || channel === undefined || other === undefined;
      if (isAlike && seq > toSeq) changed.push({ fromSeq: seq, toSeq: seq });
    }
    this.#told.splice(this.#toldFrom((fromSeq + 1) as Seq), 0, withdrawal);
    if (this.#isReasoningTaken || !REASONING_CHANNELS.some((name) => name === channel)) return changed;
    this.#isReasoningTaken = true;
    return [...changed, ALL];
  }

  /** The text of an event as it is to be shown; undefined where nothing of it was withdrawn. */
  replacementOf(seq: Seq, channel: string): string | undefined {
    if (channel === SEALED_CHANNEL && this.#isReasoningTaken) return "";
    if (seq < this.lowest) return undefined;
    const found = this.lastAt(seq, channel);
    if (!found) return undefined;
    // A halt's replacement appears once, at its first event: a call shows it in its arguments.
    if (channel === NAME_CHANNEL && found.channel === undefined) return "";
    return seq === found.fromSeq && !this.#passedOver.has(found) ? found.replacement : "";
  }

  /** The last withdrawal that takes the text of a channel at a place. @param channel undefined for that which a halt replaces */
  protected lastAt(seq: Seq, channel: string | undefined): Withdrawal | undefined {
    const channels = channel === undefined ? this.#channelsOfHalts() : [channel];
    let last = this.#halts.findLast(({ fromSeq }) => fromSeq <= seq);
    for (const name of channels) {
      const one = this.ranges.get(name)?.at(seq);
      if (one && (!last || one.seq > last.seq)) last = one;
    }
    return last;
  }

  /** Nothing before this event was withdrawn. */
  protected get lowest(): number {
    return this.#told[0]?.fromSeq ?? Number.POSITIVE_INFINITY;
  }

  #channelsOfHalts(): string[] {
    return [...this.ranges.keys()].filter((channel) => channel !== NAME_CHANNEL);
  }

  #rangesOf(channel: string): WithdrawnRanges {
    const ranges = this.ranges.get(channel) ?? new WithdrawnRanges();
    this.ranges.set(channel, ranges);
    return ranges;
  }

  /** Returns the index of the first withdrawal that begins at or after `seq`. */
  #toldFrom(seq: Seq): number {
    return firstWhere(this.#told, ({ fromSeq }) => fromSeq >= seq);
  }
}

const NOTHING: readonly SeqRange[] = [];

function toWithdrawal(event: KnownEvent | UnknownEvent): Withdrawal | undefined {
  if (event.type === "moderation.redacted") {
    const { seq, from_seq: fromSeq, to_seq: toSeq, replacement, channel = "0", rule, category } = event;
    return { seq, fromSeq, toSeq, channel, replacement, rule, category };
  }
  if (event.type === "moderation.halted") {
    const { seq, from_seq: fromSeq, replacement, rule, category } = event;
    const toSeq = Number.POSITIVE_INFINITY as Seq;
    return { seq, fromSeq, toSeq, channel: undefined, replacement, rule, category };
  }
  return undefined;
}
