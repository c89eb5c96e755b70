/** How far readers were ahead of moderation when it caught up with them. */
export interface ModerationLag {
  /** For how long the oldest event of those that were judged together had been there. */
  readonly ms: number;
  /** Of the text that readers could have seen by then, how much nobody had judged. */
  readonly characters: number;
}

/**
 * How much text readers of a log are ahead of moderation, and how much they may be: an event with which it would be more is not
 * shown until what is before it, or it itself, is judged.
 */
export class Lead {
  readonly #most: number;
  /** By `seq`: how long all text up to an event is, and when it came; NaN where nobody was there to see it. */
  readonly #lengths: number[] = [];
  readonly #cameAt: number[] = [];
  #judged = 0;
  #shown = 0;

  /** @param most in UTF-16 code units, like everything here that counts characters */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the next event. Events that are left out have no text. */
  took(seq: number, textLength: number, cameAt: number): void {
    const before = this.#lengths.at(-1) ?? 0;
    while (this.#lengths.length < seq) this.#push(before, Number.NaN);
    this.#push(before + textLength, cameAt);
    this.#show();
  }

  /**
   * Everything up to an event is judged.
   * @returns undefined where it was before, or the first of it was there before anybody looked
   */
  judged(seq: number, now: number): ModerationLag | undefined {
    const from = this.#judged;
    const ms = now - (this.#cameAt[from + 1] ?? Number.NaN);
    const characters = this.#lengthAt(this.#shown) - this.#lengthAt(from);
    this.#judged = Math.max(from, seq);
    this.#show();
    return seq > from && !Number.isNaN(ms) ? { ms, characters } : undefined;
  }

  /** What was judged was another log from an event on. What was shown of that stays shown. */
  forget(judged: number): void {
    this.#judged = Math.min(this.#judged, judged);
  }

  /** The last event that may be shown. */
  shownSeq(lastSeq: number): number {
    return this.#shown < this.#lengths.length - 1 ? Math.min(this.#shown, lastSeq) : lastSeq;
  }

  #push(length: number, cameAt: number): void {
    this.#lengths.push(length);
    this.#cameAt.push(cameAt);
  }

  #show(): void {
    const most = this.#lengthAt(this.#judged) + this.#most;
    while (this.#shown < this.#lengths.length - 1 && this.#lengthAt(this.#shown + 1) <= most) this.#shown++;
    this.#shown = Math.max(this.#shown, Math.min(this.#judged, this.#lengths.length - 1));
  }

  #lengthAt(seq: number): number {
    return this.#lengths[Math.min(seq, this.#lengths.length - 1)] ?? 0;
  }
}
