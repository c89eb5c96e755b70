import { type Detector, NO_FINDINGS, type RuleFinding, type Scanner } from "./finding.ts";
import type { Meter } from "./meter.ts";
import { SLICE_UNITS, type SymbolBuffer } from "./symbol-buffer.ts";

/** The parts of a scanner. The buffers are shared by all scanners of a rule set: a push ends before another begins. */
export interface ScannerParts {
  readonly folded: SymbolBuffer;
  readonly plain: SymbolBuffer;
  readonly meter: Meter;
  /** Judge compatible forms. */
  readonly overFolded: readonly Detector[];
  /** Judge code points as they are. */
  readonly overPlain: readonly Detector[];
}

/** Steps of a character for any rules: it is folded, buffered, and looked up. */
const STEPS_PER_CHARACTER = 20;

/** Hands each piece to the detectors and collects what they find. */
export class TextScanner implements Scanner {
  readonly #parts: ScannerParts;
  #found: RuleFinding[] | undefined;
  /** Findings that were reported when pending text was settled: the detectors may find them again. */
  #settled: readonly RuleFinding[] = NO_FINDINGS;
  #length = 0;
  #high = 0;
  #ended = false;

  constructor(assemble: (report: (finding: RuleFinding) => void) => ScannerParts) {
    this.#parts = assemble((finding) => {
      (this.#found ??= []).push(finding);
    });
  }

  get length(): number {
    return this.#length;
  }

  get pending(): number {
    if (this.#ended) return 0;
    const { overFolded, overPlain } = this.#parts;
    let from = this.#high === 0 ? this.#length : this.#length - 1;
    for (const detector of overFolded) from = Math.min(from, detector.heldFrom());
    for (const detector of overPlain) from = Math.min(from, detector.heldFrom());
    return this.#length - from;
  }

  push(text: string): readonly RuleFinding[] {
    const { folded, plain, overFolded, overPlain, meter } = this.#parts;
    meter.steps += STEPS_PER_CHARACTER * text.length;
    let high = this.#high;
    for (let from = 0; from < text.length; from += SLICE_UNITS) {
      const to = Math.min(from + SLICE_UNITS, text.length);
      let chunk = folded;
      let next = high;
      if (overFolded.length > 0) {
        next = folded.fold(text, from, to, this.#length, high);
        for (const detector of overFolded) detector.feed(folded);
      }
      if (overPlain.length > 0) {
        if (overFolded.length === 0 || !folded.isAscii) {
          next = plain.read(text, from, to, this.#length, high);
          chunk = plain;
        }
        for (const detector of overPlain) detector.feed(chunk);
      }
      high = next;
    }
    this.#high = high;
    this.#length += text.length;
    return this.#take();
  }

  settle(): readonly RuleFinding[] {
    const { pending } = this;
    if (pending === 0) return NO_FINDINGS;
    const { overFolded, overPlain } = this.#parts;
    this.#conclude([...overFolded, ...overPlain].map((detector) => detector.fork()));
    const found = this.#take();
    const stillOpen = this.#settled.filter(({ to }) => to > this.#length - pending);
    this.#settled = [...stillOpen, ...found];
    return found;
  }

  end(): readonly RuleFinding[] {
    const { overFolded, overPlain } = this.#parts;
    this.#conclude([...overFolded, ...overPlain]);
    this.#ended = true;
    return this.#take();
  }

  #conclude(detectors: readonly Detector[]): void {
    const { folded } = this.#parts;
    folded.lone(this.#high, this.#length);
    for (const detector of detectors) {
      detector.feed(folded);
      detector.end();
    }
  }

  #take(): readonly RuleFinding[] {
    const found = this.#found;
    if (found === undefined) return NO_FINDINGS;
    this.#found = undefined;
    const isSaid = ({ rule, from, to }: RuleFinding) =>
      this.#settled.some((said) => said.rule === rule && said.from === from && said.to === to);
    const news = this.#settled.length === 0 ? found : found.filter((one) => !isSaid(one));
    return news.toSorted((a, b) => a.from - b.from || a.to - b.to);
  }
}
