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

  /** True if one of the attempts is the cursor's. Always false without a nonce: any other log has an attempt with the same number. */
  knows({ attempt, nonce }: Cursor): boolean {
    return (
      nonce !== undefined && this.#attempts.some((each) => each.attempt === attempt && each.nonce === nonce)
    );
  }

  /**
   * True if a cursor without an event in the log was issued for an event that the store has lost: no other process has issued cursors of the log's
   * own attempts.
   */
  hasIssued(cursor: Cursor): boolean {
    return this.hasLost(cursor) || this.knows(cursor);
  }

  /**
   * True if a cursor's event was lost by the store: a later attempt resumed the log before its place, and either the cursor is of an attempt of this
   * log, or the later attempt records that events had been lost.
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
