import {
  decodeEvent,
  encodeCursor,
  isTerminal,
  type KnownEvent,
  peekType,
  Withdrawals,
} from "@reprise/protocol";
import type { LogEvent } from "./log-event.ts";

/** An event that takes text away which came before it. */
export interface Withdrawing {
  readonly event: KnownEvent;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
}

/**
 * What one pass over a log finds out that counts for other events than those that say it: which attempt wrote what, and what was withdrawn.
 * It is small however long the log is.
 */
export class LogOutline {
  /** In the order of the log. */
  readonly withdrawing: readonly Withdrawing[];
  /** -1 for a log without events. */
  readonly lastSeq: number;
  readonly #attempts: readonly { readonly attempt: number; readonly fromSeq: number }[];

  private constructor(
    lastSeq: number,
    withdrawing: readonly Withdrawing[],
    attempts: readonly { attempt: number; fromSeq: number }[],
  ) {
    this.lastSeq = lastSeq;
    this.withdrawing = withdrawing;
    this.#attempts = attempts;
  }

  /** @throws what the events throw; RepriseError `protocol_violation` for an event that is none */
  static async of(events: AsyncIterable<LogEvent>): Promise<LogOutline> {
    const withdrawing: Withdrawing[] = [];
    const attempts: { attempt: number; fromSeq: number }[] = [];
    let lastSeq = -1;
    for await (const { seq, storedAtUs, payload } of events) {
      lastSeq = seq;
      const type = peekType(payload);
      if (type === "output.delta" || isTerminal(type)) continue;
      if (type === "generation.started") {
        const { attempt } = decodeEvent(payload) as StartedEvent;
        attempts.push({ attempt, fromSeq: seq });
      } else if (type === "moderation.redacted" || type === "moderation.halted") {
        withdrawing.push({ event: decodeEvent(payload) as KnownEvent, storedAtUs });
      }
    }
    return new LogOutline(lastSeq, withdrawing, attempts);
  }

  /** The cursor that every reader gets with the event: the attempt in it is the last one that began at it or before. */
  cursorAt(seq: number): string {
    const attempt = this.#attempts.findLast(({ fromSeq }) => fromSeq <= seq)?.attempt ?? 0;
    return encodeCursor({ attempt, seq });
  }

  /** What a reader who comes now is not shown. */
  withdrawals(): Withdrawals {
    const withdrawals = new Withdrawals();
    for (const { event } of this.withdrawing) withdrawals.apply(event);
    return withdrawals;
  }
}

type StartedEvent = Extract<KnownEvent, { type: "generation.started" }>;
