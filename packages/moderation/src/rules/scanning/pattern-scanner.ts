import { type Detector, NOTHING_HELD, type RuleFinding, type SymbolChunk } from "./finding.ts";
import type { DfaState, LazyDfa } from "./lazy-dfa.ts";
import { STEPS_PER_FINDING } from "./meter.ts";
import { ASCII, type BankShape, CONTEXT, type PatternBank } from "./pattern-bank.ts";
import { SIDE, type Side } from "./side.ts";
import { SymbolRing } from "./symbol-ring.ts";

/** A shape's way through the text, by numbers of symbols. */
interface Run {
  /** Where it began. */
  begin: number;
  /** The next symbol to read; between two runs, the place where the search continues. */
  next: number;
  /** Where its longest match so far ends; `begin` for none. */
  end: number;
  state: DfaState;
}

/**
 * Finds the matches of a bank's shapes in one text. For each shape alone, from left to right: the first place where a match of at most
 * `maxLength` begins, the longest match there; then on after it.
 *
 * Each shape has at most one run under way, from the earliest place where a match may still begin. A run that comes to nothing, or
 * grows too long, is followed by one from the next place, over symbols that the ring still has. So what is held is exactly what the
 * run has read, and each shape reads a symbol at most `maxLength` times, for any pattern and text.
 */
export class PatternScanner implements Detector {
  readonly #bank: PatternBank;
  readonly #report: (finding: RuleFinding) => void;
  #ring = new SymbolRing();
  /** The shapes with a run under way, a bit each. */
  #running = 0;
  /** By shape. */
  #runs: Run[];
  #before: Side = SIDE.edge;

  constructor(bank: PatternBank, report: (finding: RuleFinding) => void) {
    this.#bank = bank;
    this.#report = report;
    this.#runs = bank.shapes.map(({ dfa }) => ({ begin: 0, next: 0, end: 0, state: dfa.start(SIDE.edge) }));
  }

  feed(chunk: SymbolChunk): void {
    const { symbols, count } = chunk;
    const ring = this.#ring;
    const bank = this.#bank;
    const { begins, sides } = bank;
    bank.meter.steps += count;
    const first = ring.count;
    ring.reserve(count, this.#earliest() - CONTEXT);
    ring.append(chunk);
    let awake = this.#running;
    let before = this.#before;
    for (let at = 0; at < count; at++) {
      const symbol = symbols[at] as number;
      const ascii = symbol < ASCII;
      const index = before * ASCII + symbol;
      const able = (ascii ? (begins[index] as number) : bank.beginsBeyond(symbol)) & ~awake;
      if (able !== 0) awake |= this.#wake(able, first + at, before);
      before = ascii ? (sides[index] as Side) : bank.sideOf(before, symbol);
    }
    this.#before = before;
    for (let left = awake; left !== 0; left &= left - 1) this.#advance(lowestBit(left), false);
  }

  fork(): PatternScanner {
    const copy = new PatternScanner(this.#bank, this.#report);
    copy.#ring = this.#ring.fork();
    copy.#running = this.#running;
    copy.#runs = this.#runs.map((run) => ({ ...run }));
    copy.#before = this.#before;
    return copy;
  }

  end(): void {
    for (let left = this.#running; left !== 0; left &= left - 1) this.#advance(lowestBit(left), true);
  }

  heldFrom(): number {
    return this.#running === 0 ? NOTHING_HELD : this.#ring.start(this.#earliest());
  }

  /** The number of the first symbol that a run has read, or else of the next symbol. */
  #earliest(): number {
    let earliest = this.#ring.count;
    for (let left = this.#running; left !== 0; left &= left - 1)
      earliest = Math.min(earliest, this.#runOf(lowestBit(left)).begin);
    return earliest;
  }

  /**
   * Starts runs for the shapes that may begin at this symbol, unless the next symbol, if it has come,
   * excludes a match there: a run costs more than two look-ups.
   */
  #wake(able: number, number: number, before: Side): number {
    const ring = this.#ring;
    const { shapes, meter } = this.#bank;
    let awake = 0;
    for (let left = able; left !== 0; left &= left - 1) {
      const shape = lowestBit(left);
      const { dfa } = shapes[shape] as BankShape;
      if (
        number + 1 < ring.count &&
        dfa.failsWith(before, ring.symbol(number), ring.symbol(number + 1), meter)
      )
        continue;
      this.#runOf(shape).next = number;
      awake |= 1 << shape;
    }
    return awake;
  }

  /** Takes a shape through all symbols that are there; `ended`: there will be no more. */
  #advance(at: number, ended: boolean): void {
    const shape = this.#bank.shapes[at] as BankShape;
    const run = this.#runOf(at);
    const bit = 1 << at;
    for (;;) {
      if ((this.#running & bit) === 0 && !this.#begin(run, shape.dfa)) return;
      this.#running |= bit;
      if (!this.#go(run, shape, ended)) return;
      this.#running &= ~bit;
      this.#conclude(run, shape);
    }
  }

  /** Looks for the next place where a match may begin. */
  #begin(run: Run, dfa: LazyDfa): boolean {
    const ring = this.#ring;
    const { meter } = this.#bank;
    let before = this.#sideAt(run.next);
    for (let at = run.next; at < ring.count; at++) {
      const symbol = ring.symbol(at);
      meter.steps++;
      if (dfa.begins(before, symbol, meter)) {
        run.begin = at;
        run.next = at;
        run.end = at;
        run.state = dfa.start(before);
        return true;
      }
      before = this.#bank.sideBehind(before, symbol);
    }
    return false;
  }

  /** Returns the side before a symbol. Two symbols decide: an escape is one letter after a backslash. */
  #sideAt(number: number): Side {
    let side: Side = SIDE.edge;
    for (let at = Math.max(0, number - 2); at < number; at++)
      side = this.#bank.sideBehind(side, this.#ring.symbol(at));
    return side;
  }

  /** @returns whether the run is over: nothing that may follow makes its match longer */
  #go(run: Run, { dfa, maxLength }: BankShape, ended: boolean): boolean {
    const ring = this.#ring;
    const { meter } = this.#bank;
    const last = run.begin + maxLength;
    let { next: at, end, state } = run;
    let over = false;
    while (!over && at < ring.count) {
      state = dfa.step(state, ring.symbol(at), meter);
      if (state.matchedBefore) end = at;
      at++;
      if (state.matches && at <= last) end = at;
      over = !state.open || at > last || (at === last && !state.asks);
    }
    if (!over && ended && dfa.matchesAtEnd(state)) end = at;
    meter.steps += at - run.next;
    run.state = state;
    run.next = at;
    run.end = end;
    return over || ended;
  }

  /** Reports the match of a run, and sets the place where the search continues. */
  #conclude(run: Run, { label, check }: BankShape): void {
    const { begin, end } = run;
    const length = end > begin && check !== undefined ? this.#checked(check, run) : end - begin;
    run.next = length > 0 ? begin + length : begin + 1;
    if (length === 0) return;
    const from = this.#ring.start(begin);
    this.#bank.meter.steps += STEPS_PER_FINDING;
    this.#report({ ...label, from, to: this.#ring.end(begin + length - 1) });
  }

  #checked(check: NonNullable<BankShape["check"]>, { begin, end }: Run): number {
    const ring = this.#ring;
    return check(ring.text(begin, end), ring.before(begin, CONTEXT));
  }

  #runOf(shape: number): Run {
    return this.#runs[shape] as Run;
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
