/**
 * Joins characters that an upstream has cut in two: it may end a piece with the first half of a surrogate pair and begin the next one
 * with the second. A half that stays alone becomes U+FFFD, for text with one is refused by many readers.
 */
export class WholeCharacters {
  #half = "";

  /** Returns the text with the half before it, without the half at its end. */
  take(piece: string): string {
    if (piece === "" || (this.#half === "" && piece.isWellFormed())) return piece;
    const text = this.#half + piece;
    this.#half = isFirstHalf(text.charCodeAt(text.length - 1)) ? text.slice(-1) : "";
    return (this.#half === "" ? text : text.slice(0, -1)).toWellFormed();
  }

  /** Returns what a half became that got no other. */
  end(): string {
    const rest = this.#half.toWellFormed();
    this.#half = "";
    return rest;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd8_00 && unit <= 0xdb_ff;
}
