import { BLANK, canonicalOf, takesNoMarks, WORD, wordBits } from "./fold-table.ts";
import {
  type Detector,
  NOTHING_HELD,
  type RuleFinding,
  type RuleLabel,
  type SymbolChunk,
} from "./finding.ts";
import { type Meter, STEPS_PER_FINDING } from "./meter.ts";
import { BACKSLASH, codePointOf, isEscape, SIGN } from "./side.ts";
import type { TermAutomaton } from "./term-automaton.ts";
import type { TermEnd } from "./term-trie.ts";

/** The kind of word that a symbol is in, 1 for a plain word: a sign beside a word is no part of that word. */
const WORDS = { none: 0, sign: 2 } as const;

/** Terms that end at one place are read one by one, twice. */
const STEPS_PER_END = 4;

/** Runs one text through the automaton. Its state is a number; a small ring remembers where the last symbols began. */
export class TermScanner implements Detector {
  readonly #automaton: TermAutomaton;
  readonly #labels: readonly RuleLabel[];
  readonly #report: (finding: RuleFinding) => void;
  readonly #meter: Meter;
  /** For each of the last symbols: its offset, times two, plus 1 where the word that it is a part of began before it. */
  readonly #ring: Int32Array;
  #count = 0;
  #state = 0;
  /** True if the last symbol ended a term that waits for the next symbol. */
  #waits = false;
  #lastWord: number = WORDS.none;
  #last = 0;
  #lastEnd = 0;

  constructor(
    automaton: TermAutomaton,
    labels: readonly RuleLabel[],
    report: (finding: RuleFinding) => void,
    meter: Meter,
  ) {
    this.#automaton = automaton;
    this.#meter = meter;
    this.#labels = labels;
    this.#report = report;
    this.#ring = new Int32Array(2 ** Math.ceil(Math.log2(automaton.depth + 1)));
  }

  feed({ symbols, starts, ends, count }: SymbolChunk): void {
    const automaton = this.#automaton;
    const ring = this.#ring;
    const mask = ring.length - 1;
    this.#meter.steps += count;
    for (let at = 0; at < count; at++) {
      const read = symbols[at] as number;
      const symbol = codePointOf(read);
      const bits = wordBits(symbol);
      if (bits >= WORD.mark && takesNoMarks(this.#last)) continue;
      if (canonicalOf(symbol) === BLANK && canonicalOf(this.#last) === BLANK) continue;
      let word = bits & WORD.part;
      if (read >= SIGN) word *= WORDS.sign;
      else if (this.#last === BACKSLASH && isEscape(symbol)) word = WORDS.none;
      const goesOn = word !== WORDS.none && word === this.#lastWord ? 1 : 0;
      this.#last = symbol;
      if (this.#waits) this.#judgeWaiting(goesOn === 1);
      ring[this.#count++ & mask] = (starts[at] as number) * 2 + goesOn;
      this.#lastWord = word;
      this.#lastEnd = ends[at] as number;
      const next = automaton.step(this.#state, symbol);
      if (next >= 0) {
        this.#state = next;
        continue;
      }
      this.#state = ~next;
      this.#judgeEnds();
    }
  }

  fork(): TermScanner {
    const copy = new TermScanner(this.#automaton, this.#labels, this.#report, this.#meter);
    copy.#ring.set(this.#ring);
    copy.#count = this.#count;
    copy.#state = this.#state;
    copy.#waits = this.#waits;
    copy.#lastWord = this.#lastWord;
    copy.#last = this.#last;
    copy.#lastEnd = this.#lastEnd;
    return copy;
  }

  end(): void {
    if (this.#waits) this.#judgeWaiting(false);
    this.#state = 0;
  }

  heldFrom(): number {
    const held = this.#automaton.held(this.#state);
    return held === 0 ? NOTHING_HELD : this.#begin(held) >> 1;
  }

  /** Where the last `length` symbols begin, as the ring has it. */
  #begin(length: number): number {
    return this.#ring[(this.#count - length) & (this.#ring.length - 1)] as number;
  }

  #judgeEnds(): void {
    for (const end of this.#automaton.endsAt(this.#state)) if (end.rightBoundary) this.#waits = true;
    this.#reportLongest((end) => !end.rightBoundary);
  }

  #judgeWaiting(goesOn: boolean): void {
    this.#waits = false;
    if (!goesOn) this.#reportLongest((end) => end.rightBoundary);
  }

  /** Reports the longest of a rule's terms that end here: it covers the others. */
  #reportLongest(counts: (end: TermEnd) => boolean): void {
    const found = new Set<number>();
    for (const end of this.#automaton.endsAt(this.#state)) {
      this.#meter.steps += STEPS_PER_END;
      if (!counts(end) || found.has(end.rule)) continue;
      const begin = this.#begin(end.length);
      if (end.leftBoundary && (begin & 1) === 1) continue;
      found.add(end.rule);
      this.#meter.steps += STEPS_PER_FINDING;
      this.#report({ ...(this.#labels[end.rule] as RuleLabel), from: begin >> 1, to: this.#lastEnd });
    }
  }
}
