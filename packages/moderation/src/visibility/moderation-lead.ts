import { type Seq, REQUEST_SEQ, plus } from "@reprise/protocol";

/** Lead of readers over moderation at the moment when it caught up with them. */
export interface ModerationLag {
  /** For how long the oldest text that was judged now had been there. */
  readonly ms: number;
  /** Characters that readers could see by then and that were not judged. */
  readonly characters: number;
}

const TRIM_EVERY = 1_024;

/**
 * Tracks how much text readers of a log are ahead of moderation, and how much they may be. An event that would exceed that is not shown until the
 * events before it, or the event itself, are judged. Keeps 16 bytes for each event that is not judged.
 */
export class ModerationLead {
  readonly #most: number;
  /** For the events from `#firstSeq` on: the length of all text up to each, and its arrival time. NaN: it has no text, or its arrival was not observed. */
  #ends: number[] = [];
  #cameAt: number[] = [];
  #firstSeq: Seq = REQUEST_SEQ;
  /** Length of the text before them. */
  #before = 0;
  #judged: Seq = REQUEST_SEQ;
  #shown: Seq = REQUEST_SEQ;
  /** The furthest that any verdict has judged, of this log or one that the store has lost. */
  #measured: Seq = REQUEST_SEQ;

  /** @param most in UTF-16 code units, as everything here that counts characters; infinite where there is no limit */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes the next event. Events that are left out have no text. */
  took(seq: Seq, textLength: number, cameAt: number): void {
    while (this.#lastSeq < seq - 1) this.#push(0, Number.NaN);
    this.#push(textLength, textLength > 0 ? cameAt : Number.NaN);
    this.#show();
  }

  /**
   * Everything up to an event is judged.
   * @param shownSeq up to where readers could see by now
   * @returns undefined where no text is judged that was not before
   */
  judged(seq: Seq, now: number, shownSeq: Seq): ModerationLag | undefined {
    const lag = this.#lag(seq, now, shownSeq);
    this.#measured = Math.max(this.#measured, seq);
    this.#judged = Math.max(this.#judged, seq);
    this.#show();
    this.#trim();
    return lag;
  }

  /** The judged log was another one from an event on. Its events that were already shown stay shown. */
  forget(judged: Seq): void {
    this.#judged = Math.min(this.#judged, judged);
  }

  /** The last event that may be shown. */
  shownSeq(lastSeq: Seq): Seq {
    return this.#shown < this.#lastSeq ? Math.min(this.#shown, lastSeq) : lastSeq;
  }

  get #lastSeq(): Seq {
    return plus(this.#firstSeq, this.#ends.length - 1);
  }

  #lag(seq: Seq, now: number, shownSeq: Seq): ModerationLag | undefined {
    const [from, to] = [this.#measured + 1, Math.min(seq, this.#lastSeq)];
    for (let at = from; at <= to; at++) {
      const cameAt = this.#cameAt[at - this.#firstSeq] ?? Number.NaN;
      if (Number.isNaN(cameAt)) continue;
      const characters = this.#endOf(shownSeq) - this.#endOf(this.#measured);
      return { ms: now - cameAt, characters: Math.max(0, characters) };
    }
    return undefined;
  }

  #push(textLength: number, cameAt: number): void {
    this.#ends.push((this.#ends.at(-1) ?? this.#before) + textLength);
    this.#cameAt.push(cameAt);
  }

  #show(): void {
    const most = this.#endOf(this.#judged) + this.#most;
    this.#shown = Math.max(this.#shown, Math.min(this.#judged, this.#lastSeq));
    while (this.#shown < this.#lastSeq && this.#endOf(plus(this.#shown, 1)) <= most) this.#shown++;
  }

  /** Length of the text up to an event. */
  #endOf(seq: Seq): number {
    const index = Math.min(seq, this.#lastSeq) - this.#firstSeq;
    // Each event from `#firstSeq` to `#lastSeq` has an end.
    return index < 0 ? this.#before : this.#ends[index]!;
  }

  #trim(): void {
    const done = Math.min(this.#judged, this.#shown) - this.#firstSeq;
    if (done < TRIM_EVERY) return;
    this.#before = this.#endOf(plus(this.#firstSeq, done - 1));
    this.#ends = this.#ends.slice(done);
    this.#cameAt = this.#cameAt.slice(done);
    this.#firstSeq = plus(this.#firstSeq, done);
  }
}
