import type { Withdrawals } from "@reprise/protocol";
import type { RuleFinding, Scanner } from "@reprise/rules";

/** Events of one channel, from the first to the last, both included. */
export interface SeqRange {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** Text that is to read otherwise, in UTF-16 offsets of the channel's text. */
export interface Mask {
  readonly from: number;
  readonly to: number;
  readonly replacement: string;
}

interface TextEvent {
  readonly seq: number;
  readonly start: number;
  readonly text: string;
}

/**
 * The text of one channel as its rules have scanned it: where which event lies, for as long as somebody may still have to replace
 * something there, and what was masked.
 */
export class ChannelText {
  readonly name: string;
  readonly #scanner: Scanner;
  #events: TextEvent[] = [];
  #masks: Mask[] = [];
  /** Ranges that the log has withdrawn: a later one takes in those that it touches. */
  #withdrawn: SeqRange[] = [];

  constructor(name: string, scanner: Scanner) {
    this.name = name;
    this.#scanner = scanner;
  }

  push(seq: number, text: string): readonly RuleFinding[] {
    this.#events.push({ seq, start: this.#scanner.length, text });
    return this.#scanner.push(text);
  }

  /** What half matches come to when no text follows. */
  end(): readonly RuleFinding[] {
    return this.#scanner.end();
  }

  /** The first event that holds text which may yet become part of a match. */
  get pendingSeq(): number | undefined {
    const { pending, length } = this.#scanner;
    return pending === 0 ? undefined : this.#eventAt(length - pending)?.seq;
  }

  get pendingLength(): number {
    return this.#scanner.pending;
  }

  mask(mask: Mask): void {
    this.#masks = this.#masks.filter(({ from, to }) => from !== mask.from || to !== mask.to);
    this.#masks.push(mask);
    // Of two that begin at one place the wider one counts.
    this.#masks.sort((a, b) => a.from - b.from || b.to - a.to);
  }

  /** Goes on behind the beginning of another text, which is this one's whole text so far: what was decided there stands. */
  continue(other: ChannelText): void {
    for (const mask of other.#masks)
      if (mask.from < this.length) this.mask({ ...mask, to: Math.min(mask.to, this.length) });
    this.#withdrawn = [...other.#withdrawn];
  }

  get length(): number {
    return this.#scanner.length;
  }

  withdrawn(range: SeqRange): void {
    this.#withdrawn.push(range);
  }

  /** From an event on nothing of the text counts, that which is still to come included. @param replacement what stands there if it is this text's */
  cutOff(fromSeq: number, replacement: string): void {
    const first = this.#events.find(({ seq }) => seq >= fromSeq);
    const from = first?.start ?? this.length;
    this.mask({ from, to: Number.POSITIVE_INFINITY, replacement: first?.seq === fromSeq ? replacement : "" });
  }

  /** Where a stretch of text lies. */
  rangeOf(from: number, to: number): SeqRange {
    const first = this.#eventAt(from);
    const last = this.#eventAt(Math.max(from, to - 1));
    return { fromSeq: first?.seq ?? 0, toSeq: last?.seq ?? first?.seq ?? 0 };
  }

  /** The text that whole events have; undefined when they are not kept any more. */
  stretchOf({ fromSeq, toSeq }: SeqRange): { from: number; to: number } | undefined {
    const first = this.#events.find(({ seq }) => seq >= fromSeq);
    const last = this.#events.findLast(({ seq }) => seq <= toSeq);
    if (!first || !last || first.seq !== fromSeq) return undefined;
    return { from: first.start, to: last.start + last.text.length };
  }

  /** The range with every earlier withdrawal that it touches: ranges never overlap in part. */
  widened(range: SeqRange): SeqRange {
    let { fromSeq, toSeq } = range;
    for (const earlier of this.#withdrawn.toReversed()) {
      if (earlier.toSeq < fromSeq || earlier.fromSeq > toSeq) continue;
      fromSeq = Math.min(fromSeq, earlier.fromSeq);
      toSeq = Math.max(toSeq, earlier.toSeq);
    }
    return { fromSeq, toSeq };
  }

  /**
   * How a range is to read.
   * @param until only up to this place of the text. Default: all of the range
   */
  masked(range: SeqRange, until = Number.POSITIVE_INFINITY): string {
    const events = this.#eventsIn(range);
    const start = events[0]?.start ?? 0;
    const raw = events.map((event) => event.text).join("");
    const end = Math.min(start + raw.length, until);
    let text = "";
    let at = start;
    for (const { from, to, replacement } of this.#masks) {
      if (to <= at || from >= end) continue;
      text += raw.slice(at - start, Math.max(at, from) - start);
      // What a mask replaces stands where it begins: of one that began before, only the rest lies here.
      if (from >= at) text += replacement;
      at = to;
    }
    return text + raw.slice(at - start, Math.max(at, end) - start);
  }

  /** How a range reads by what the log says so far. */
  shown(range: SeqRange, withdrawals: Withdrawals): string {
    return this.#eventsIn(range)
      .map(({ seq, text }) => withdrawals.replacementOf(seq, this.name) ?? text)
      .join("");
  }

  /** Forgets what nobody can ask for any more. @param keepFromSeq the first event that somebody still needs */
  forget(keepFromSeq: number): void {
    const needed = this.widened({
      fromSeq: Math.min(keepFromSeq, this.pendingSeq ?? keepFromSeq),
      toSeq: keepFromSeq,
    });
    let count = 0;
    while (count < this.#events.length - 1 && this.#events[count]!.seq < needed.fromSeq) count++;
    if (count < FORGET_AT_ONCE) return;
    this.#events.splice(0, count);
    const { start, seq } = this.#events[0]!;
    this.#masks = this.#masks.filter(({ to }) => to > start);
    this.#withdrawn = this.#withdrawn.filter(({ toSeq }) => toSeq >= seq);
  }

  #eventsIn({ fromSeq, toSeq }: SeqRange): TextEvent[] {
    return this.#events.filter(({ seq }) => seq >= fromSeq && seq <= toSeq);
  }

  #eventAt(offset: number): TextEvent | undefined {
    return this.#events.findLast(({ start, text }) => start <= offset && offset < start + text.length);
  }
}

/** Moving what stays costs more than keeping a few for longer. */
const FORGET_AT_ONCE = 64;
