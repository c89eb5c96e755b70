import type { Cursor } from "@reprise/protocol";

/** An attempt, and whether the store had lost events before it. */
interface Attempt {
  readonly attempt: number;
  readonly fromSeq: number;
  readonly afterLoss: boolean;
}

/** Which attempt has written what of one generation's log. */
export class LogAttempts {
  readonly #attempts: Attempt[] = [];

  /** The last one; 0 before the first. */
  get current(): number {
    return this.#attempts.at(-1)?.attempt ?? 0;
  }

  add(attempt: Attempt): void {
    this.#attempts.push(attempt);
  }

  /** During which attempt an event was written, given that there is one. */
  at(seq: number): number {
    return this.#attempts.findLast(({ fromSeq }) => fromSeq <= seq)?.attempt ?? 0;
  }

  /**
   * Whether a cursor is of an event that the store has lost: the log was taken up again before its place, by a later attempt which
   * says that events had been lost.
   */
  hasLost({ attempt, seq }: Cursor): boolean {
    return this.#attempts.some((later) => later.afterLoss && later.attempt > attempt && later.fromSeq <= seq);
  }
}
