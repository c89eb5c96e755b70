import type { RuleFinding, Scanner } from "@reprise/moderation";

/** A stretch that reads otherwise, in UTF-16 offsets of all text. */
type Span = Pick<RuleFinding, "from" | "to">;

/**
 * Releases text piece by piece, each as a whole once no rule can still match in it, with a replacement in the place of every match. The result depends on the
 * pieces alone: the same pieces are released alike in another process.
 */
export class ClearText<Piece extends { readonly text: string }> {
  readonly #scanner: Pick<Scanner, "length" | "pending">;
  readonly #replacement: string;
  #held: Piece[] = [];
  /** Everything before it was released. */
  #released = 0;
  /** In order, apart from each other. */
  readonly #spans: Span[] = [];
  #halt: RuleFinding | undefined;

  constructor(scanner: Pick<Scanner, "length" | "pending">, replacement: string) {
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

  /**
   * Releases everything: of a match that continues in later text only the later part is replaced.
   * @param found by the scanner when it has settled
   */
  settle(found: readonly RuleFinding[]): Piece[] {
    this.#take(found);
    return this.#release(this.#scanner.length);
  }

  #take(found: readonly RuleFinding[]): void {
    for (const finding of found) {
      const { action, to } = finding;
      if (action === "halt") this.#halt ??= finding;
      if (action === "flag" || to <= this.#released) continue;
      const from = Math.max(finding.from, this.#released);
      let span: Span = { from, to };
      const later: Span[] = [];
      for (let last = this.#spans.at(-1); last && last.to > from; last = this.#spans.at(-1)) {
        this.#spans.pop();
        if (last.from >= to) later.unshift(last);
        else span = { from: Math.min(span.from, last.from), to: Math.max(span.to, last.to) };
      }
      this.#spans.push(span, ...later);
    }
  }

  #release(cleared: number): Piece[] {
    const released: Piece[] = [];
    for (let [piece] = this.#held; piece && !this.#halt; [piece] = this.#held) {
      if (this.#released + piece.text.length > cleared) break;
      this.#held.shift();
      released.push({ ...piece, text: this.#cleared(piece.text) });
      this.#released += piece.text.length;
      const open = this.#spans.findIndex(({ to }) => to > this.#released);
      this.#spans.splice(0, open === -1 ? this.#spans.length : open);
    }
    return released;
  }

  /** @param text the next piece */
  #cleared(text: string): string {
    let shown = "";
    let at = 0;
    for (const span of this.#spans) {
      const from = span.from - this.#released;
      if (from >= text.length) break;
      // One that began in an earlier piece has its replacement there.
      if (from >= 0) shown += text.slice(at, from) + this.#replacement;
      at = span.to - this.#released;
    }
    return shown + text.slice(at);
  }
}
