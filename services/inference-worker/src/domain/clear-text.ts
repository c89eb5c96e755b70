import type { RuleFinding, Scanner } from "@reprise/moderation";

/** A stretch that reads otherwise, in UTF-16 offsets of all text. */
interface Span {
  from: number;
  to: number;
  /** True once its replacement was released. */
  isTold: boolean;
}

/**
 * Releases text piece by piece, each as a whole once no rule can still match in it, with a replacement in the place of every match. The result depends on the
 * pieces alone: the same pieces are released alike in another process.
 */
export class ClearText<Piece extends { readonly text: string }> {
  readonly #scanner: Scanner;
  readonly #replacement: string;
  #held: Piece[] = [];
  /** Everything before it was released. */
  #released = 0;
  #spans: Span[] = [];
  #halt: RuleFinding | undefined;

  constructor(scanner: Scanner, replacement: string) {
    this.#scanner = scanner;
    this.#replacement = replacement;
  }

  /** The first match of a rule that halts. Nothing is released after it. */
  get halt(): RuleFinding | undefined {
    return this.#halt;
  }

  /** @param found by the scanner in the text of the piece, which it has read */
  push(piece: Piece, found: readonly RuleFinding[]): Piece[] {
    this.#held.push(piece);
    this.#take(found);
    return this.#release(this.#scanner.length - this.#scanner.pending);
  }

  /** Releases everything: of a match that continues in later text only the later part is replaced. */
  settle(): Piece[] {
    this.#take(this.#scanner.settle());
    return this.#release(this.#scanner.length);
  }

  #take(found: readonly RuleFinding[]): void {
    for (const finding of found) {
      const { action, to } = finding;
      if (action === "halt") this.#halt ??= finding;
      if (action === "flag" || to <= this.#released) continue;
      const span = { from: Math.max(finding.from, this.#released), to, isTold: false };
      const met = this.#spans.filter((one) => one.from < span.to && span.from < one.to);
      for (const one of met) {
        span.from = Math.min(span.from, one.from);
        span.to = Math.max(span.to, one.to);
        span.isTold ||= one.isTold;
      }
      this.#spans = [...this.#spans.filter((one) => !met.includes(one)), span];
    }
  }

  #release(cleared: number): Piece[] {
    const released: Piece[] = [];
    for (let [piece] = this.#held; piece && !this.#halt; [piece] = this.#held) {
      if (this.#released + piece.text.length > cleared) break;
      this.#held.shift();
      released.push({ ...piece, text: this.#cleared(piece.text) });
      this.#released += piece.text.length;
      this.#spans = this.#spans.filter(({ to }) => to > this.#released);
    }
    return released;
  }

  /** @param text the next piece */
  #cleared(text: string): string {
    let shown = "";
    let at = 0;
    for (const span of this.#spans.toSorted((a, b) => a.from - b.from)) {
      const from = span.from - this.#released;
      if (from >= text.length) break;
      shown += text.slice(at, Math.max(from, at));
      if (!span.isTold) shown += this.#replacement;
      span.isTold = true;
      at = span.to - this.#released;
    }
    return shown + text.slice(at);
  }
}
