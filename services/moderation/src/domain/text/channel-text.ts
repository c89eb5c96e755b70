import {
  firstWhere,
  type SeqRange,
  type Withdrawals,
  type Seq,
  plus,
  REQUEST_SEQ,
  BEYOND_LOG,
} from "@reprise/protocol";
import type { RuleFinding, RuleSet, Scanner } from "@reprise/moderation";
import { type Judging, pushInPieces } from "./push-in-pieces.ts";
import { type Mask, Masks } from "./masks.ts";

interface TextEvent {
  readonly seq: Seq;
  readonly start: number;
  readonly text: string;
}

/**
 * The text of one channel as its rules have scanned it: where which event lies, for as long as something may still be replaced
 * there, and what was masked.
 */
export class ChannelText {
  readonly name: string;
  /** The first event that it has a say in: those before it are another text's, once a rewind has kept them. */
  fromSeq: Seq = REQUEST_SEQ;
  readonly #scanner: Scanner;
  readonly #pieceLength: number;
  #events: TextEvent[] = [];
  readonly #masks = new Masks();
  /** Places where the text was settled, in order, as far as kept: findings before such a place are reported apart from later ones. */
  #settledAt: number[] = [];

  constructor(name: string, { createScanner, pieceLength }: Pick<RuleSet, "createScanner" | "pieceLength">) {
    this.name = name;
    this.#scanner = createScanner();
    this.#pieceLength = pieceLength;
  }

  *push(seq: Seq, text: string): Judging<readonly RuleFinding[]> {
    this.#events.push({ seq, start: this.#scanner.length, text });
    return yield* pushInPieces(this.#scanner, text, this.#pieceLength);
  }

  /**
   * Returns the findings of half matches as if no text followed. The text so far is no longer held, even if more comes, but a match may
   * still reach back into it then.
   */
  settle(): readonly RuleFinding[] {
    if (this.#scanner.pending === 0) return [];
    if (this.#settledAt.at(-1) !== this.length) this.#settledAt.push(this.length);
    return this.#scanner.settle();
  }

  /** Returns the findings of half matches after the last text. */
  end(): readonly RuleFinding[] {
    return this.#scanner.end();
  }

  /** The first event that is held because its text may yet become part of a match. */
  get pendingSeq(): Seq | undefined {
    const { length, pendingLength } = this;
    return pendingLength === 0 ? undefined : this.#eventAt(length - pendingLength)?.seq;
  }

  get pendingLength(): number {
    return Math.min(this.#scanner.pending, this.length - (this.#settledAt.at(-1) ?? 0));
  }

  /** The first event with text that may yet become part of a match, held or not. */
  get openSeq(): Seq | undefined {
    const { pending, length } = this.#scanner;
    return pending === 0 ? undefined : this.#eventAt(length - pending)?.seq;
  }

  mask(mask: Mask): void {
    this.#masks.add(mask);
  }

  /** Continues another text from its beginning to the end of this one's text so far: masks in it are kept. */
  continue(other: ChannelText): void {
    for (const mask of other.#masks.within(0, this.length))
      this.mask({ ...mask, to: Math.min(mask.to, this.length) });
    this.#settledAt = other.#settledAt.filter((at) => at <= this.length);
  }

  /** Leaves the events up to this one to the text that continues after it. */
  leave(toSeq: Seq): void {
    this.fromSeq = this.#events[this.#indexOf(plus(toSeq, 1))]?.seq ?? BEYOND_LOG;
  }

  get length(): number {
    return this.#scanner.length;
  }

  /** Masks all text from an event, future text included. @param replacement shown at that event if it belongs to this text */
  cutOff(fromSeq: Seq, replacement: string): void {
    const first = this.#events[this.#indexOf(fromSeq)];
    const from = first?.start ?? this.length;
    this.mask({ from, to: Number.POSITIVE_INFINITY, replacement: first?.seq === fromSeq ? replacement : "" });
  }

  /** Where a range of text lies. */
  rangeOf(from: number, to: number): SeqRange {
    const first = this.#eventAt(from);
    const last = this.#eventAt(Math.max(from, to - 1));
    return { fromSeq: first?.seq ?? REQUEST_SEQ, toSeq: last?.seq ?? first?.seq ?? REQUEST_SEQ };
  }

  /** Where a range of text lies in that of some events. */
  offsetsIn(range: SeqRange, { from, to }: { from: number; to: number }): { from: number; to: number } {
    const start = this.#events[this.#indexOf(range.fromSeq)]?.start ?? from;
    return { from: from - start, to: to - start };
  }

  /** The text that whole events have; undefined when they are not kept any more. */
  stretchOf({ fromSeq, toSeq }: SeqRange): { from: number; to: number } | undefined {
    const first = this.#events[this.#indexOf(fromSeq)];
    const last = this.#events[this.#indexOf(plus(toSeq, 1)) - 1];
    if (!first || !last || first.seq !== fromSeq) return undefined;
    return { from: first.start, to: last.start + last.text.length };
  }

  /** A range in parts that end where the text was settled: readers may have been shown one without the next. */
  partsOf({ fromSeq, toSeq }: SeqRange): SeqRange[] {
    const parts: SeqRange[] = [];
    let from = fromSeq;
    for (const at of this.#settledAt) {
      const next = this.#eventAt(at)?.seq;
      if (next === undefined || next <= from || next > toSeq) continue;
      parts.push({ fromSeq: from, toSeq: plus(next, -1) });
      from = next;
    }
    return [...parts, { fromSeq: from, toSeq }];
  }

  /**
   * Returns a range with its masks applied.
   * @param until only up to this place of the text. Default: all of the range
   */
  masked(range: SeqRange, until = Number.POSITIVE_INFINITY): string {
    const events = this.#eventsIn(range);
    const start = events[0]?.start ?? 0;
    const raw = events.map((event) => event.text).join("");
    const end = Math.min(start + raw.length, until);
    let text = "";
    let at = start;
    for (const { from, to, replacement, hasRest = false } of this.#masks.within(start, end)) {
      if (to <= at) continue;
      text += raw.slice(at - start, Math.max(at, from) - start);
      // The replacement of a mask is at its beginning: of a mask that began before this range, only the rest is in it.
      if (from >= at || (hasRest && from >= start)) text += replacement;
      at = to;
    }
    return text + raw.slice(at - start, Math.max(at, end) - start);
  }

  /** Returns the original text of a range, before any withdrawal. */
  raw(range: SeqRange): string {
    return this.#eventsIn(range)
      .map(({ text }) => text)
      .join("");
  }

  /** Returns a range as the log shows it so far. */
  shown(range: SeqRange, withdrawals: Withdrawals): string {
    return this.#eventsIn(range)
      .map(({ seq, text }) => withdrawals.replacementOf(seq, this.name) ?? text)
      .join("");
  }

  /** Drops what is no longer needed. @param keepFromSeq the first event that is */
  forget(keepFromSeq: Seq): void {
    const count = Math.min(this.#indexOf(keepFromSeq), this.#events.length - 1);
    if (count < FORGET_AT_ONCE) return;
    this.#events.splice(0, count);
    // The last event is never dropped: `count` is less than the number of events.
    const { start } = this.#events[0]!;
    this.#masks.forget(start);
    // The last one says what is held.
    this.#settledAt = this.#settledAt.filter((at, i, all) => at > start || i === all.length - 1);
  }

  #eventsIn({ fromSeq, toSeq }: SeqRange): TextEvent[] {
    return this.#events.slice(this.#indexOf(fromSeq), this.#indexOf(plus(toSeq, 1)));
  }

  #eventAt(offset: number): TextEvent | undefined {
    const event = this.#events[firstWhere(this.#events, ({ start }) => start > offset) - 1];
    return event && offset < event.start + event.text.length ? event : undefined;
  }

  /** Where the first event lies that has this place of the log or a later one. */
  #indexOf(seq: Seq): number {
    return firstWhere(this.#events, (event) => event.seq >= seq);
  }
}

/** Moving what stays costs more than keeping a few for longer. */
const FORGET_AT_ONCE = 64;
