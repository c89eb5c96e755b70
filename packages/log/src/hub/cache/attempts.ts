import type { Cursor, KnownEvent, UnknownEvent, Seq } from "@reprise/protocol";

/** An attempt, and whether the store had lost events before it. */
interface Attempt {
  readonly attempt: number;
  readonly nonce: string | undefined;
  readonly fromSeq: Seq;
  readonly afterLoss: boolean;
}

/** Which attempt has written what of one generation's log. */
export class Attempts {
  readonly #attempts: Attempt[] = [];

  /** Takes the event if an attempt begins with it. */
  add(event: KnownEvent | UnknownEvent): void {
    if (event.type !== "generation.started") return;
    const { attempt, nonce, seq, reason } = event;
    this.#attempts.push({ attempt, nonce, fromSeq: seq, afterLoss: reason === "log_lost" });
  }

  /** The cursor of the newest event. */
  newest(seq: Seq): Cursor {
    return toCursor(this.#attempts.at(-1), seq);
  }

  /** The cursor of an event, given that there is one. */
  at(seq: Seq): Cursor {
    return toCursor(
      this.#attempts.findLast(({ fromSeq }) => fromSeq <= seq),
      seq,
    );
  }

  /** Whether one of them is the cursor's. Without a nonce that can't be told: any other log has an attempt with the same number. */
  knows({ attempt, nonce }: Cursor): boolean {
    return (
      nonce !== undefined && this.#attempts.some((each) => each.attempt === attempt && each.nonce === nonce)
    );
  }

  /**
   * Whether a cursor that no event of the log has was issued for an event which the store has lost: nothing else has issued cursors of
   * the log's own attempts.
   */
  hasIssued(cursor: Cursor): boolean {
    return this.hasLost(cursor) || this.knows(cursor);
  }

  /**
   * Whether a cursor is of an event that the store has lost: the log was taken up again before its place, by a later attempt, and it
   * is of an attempt of this log, or the later one records that events had been lost.
   */
  hasLost(cursor: Cursor): boolean {
    const isKnown = this.knows(cursor);
    return this.#attempts.some(
      ({ attempt, fromSeq, afterLoss }) =>
        attempt > cursor.attempt && fromSeq <= cursor.seq && (afterLoss || isKnown),
    );
  }
}

function toCursor(attempt: Attempt | undefined, seq: Seq): Cursor {
  return { attempt: attempt?.attempt ?? 0, nonce: attempt?.nonce, seq };
}
