import { decodeEvent, eventSchema, peekType, type Verdict, type Seq } from "@reprise/protocol";

/** An attempt, and its first event. */
export interface JudgedAttempt {
  readonly attempt: number;
  readonly nonce: string | undefined;
  readonly fromSeq: Seq;
}

/** The attempt that an event begins; undefined for every other event. */
export function startedBy(payload: Uint8Array): JudgedAttempt | undefined {
  if (peekType(payload) !== "generation.started") return undefined;
  const { data } = eventSchema.safeParse(decodeEvent(payload));
  if (data?.type !== "generation.started") return undefined;
  return { attempt: data.attempt, nonce: data.nonce, fromSeq: data.seq };
}

export function lastStartedBy(events: readonly Uint8Array[]): JudgedAttempt | undefined {
  for (const payload of events.toReversed()) {
    const started = startedBy(payload);
    if (started) return started;
  }
  return undefined;
}

/**
 * True if an event at a known place begins an attempt other than the last known one: a later one, or, if the store has lost
 * several, one in the place of an earlier one. Also true for a redelivered event of an earlier attempt.
 */
export function isAnotherAttempt(payload: Uint8Array, known: JudgedAttempt): boolean {
  const started = startedBy(payload);
  if (!started) return false;
  return started.nonce === undefined ? started.attempt > known.attempt : started.nonce !== known.nonce;
}

/** True if a verdict is about events that the store has lost, as an attempt in the log shows. Without a nonce the number alone decides. */
export function isOfLost(
  { attempt: seen = 0, nonce, judged }: Verdict,
  { attempt, nonce: logNonce, fromSeq }: JudgedAttempt,
): boolean {
  if (seen === attempt) return nonce !== undefined && nonce !== logNonce;
  return seen < attempt && judged >= fromSeq;
}
