import {
  decodeEvent,
  encodeCursor,
  isTerminal,
  type KnownEvent,
  type UnknownEvent,
  peekType,
  START,
  Withdrawals,
  type Seq,
  NO_SEQ,
  type StreamSeq,
} from "@reprise/protocol";

/** One event of a generation's log, as it is archived. */
export interface LogEvent {
  /** Its place in the log. */
  readonly seq: Seq;
  readonly streamSeq: StreamSeq;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
  readonly payload: Uint8Array;
}

/** An event that says something of others. */
export interface Notable {
  readonly event: KnownEvent | UnknownEvent;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
}

/**
 * The facts of a log that apply to other events than those that state them: the attempt that wrote each event, moderation's decisions, and
 * the end. Found in one pass; small for a log of any length.
 */
export class LogOutline {
  /** Where attempts begin, moderation's events, and ends, in the order of the log. */
  readonly notable: readonly Notable[];
  /** `NO_SEQ` for a log without events. */
  readonly lastSeq: Seq;
  readonly #attempts: readonly StartedEvent[];

  private constructor(lastSeq: Seq, notable: readonly Notable[]) {
    this.lastSeq = lastSeq;
    this.notable = notable;
    this.#attempts = notable.flatMap(({ event }) => (event.type === "generation.started" ? [event] : []));
  }

  /** @throws what the events throw; RepriseError `protocol_violation` for an event that is none */
  static async of(events: AsyncIterable<LogEvent>): Promise<LogOutline> {
    const notable: Notable[] = [];
    let lastSeq = NO_SEQ;
    for await (const { seq, storedAtUs, payload } of events) {
      lastSeq = seq;
      if (isNotable(peekType(payload))) notable.push({ event: decodeEvent(payload), storedAtUs });
    }
    return new LogOutline(lastSeq, notable);
  }

  /** Events that take text away which came before them. */
  get withdrawing(): Notable[] {
    return this.notable.filter(
      ({ event: { type } }) => type === "moderation.redacted" || type === "moderation.halted",
    );
  }

  /** The cursor that every reader gets with the event: the attempt in it is the last one that began at it or before. */
  cursorAt(seq: Seq): string {
    const { attempt, nonce } = this.#attempts.findLast((started) => started.seq <= seq) ?? START;
    return encodeCursor({ attempt, nonce, seq });
  }

  /** Returns the text that is withheld from a new reader. */
  withdrawals(): Withdrawals {
    const withdrawals = new Withdrawals();
    for (const { event } of this.notable) withdrawals.apply(event);
    return withdrawals;
  }
}

type StartedEvent = Extract<KnownEvent, { type: "generation.started" }>;

function isNotable(type: string): boolean {
  return type === "generation.started" || type.startsWith("moderation.") || isTerminal(type);
}
