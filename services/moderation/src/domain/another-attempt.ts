import { decodeEvent, type KnownEvent, peekType } from "@reprise/protocol";
import type { JudgedAttempt } from "./judge.ts";

/**
 * Whether an event that has a known one's place begins an attempt that is not the last known one: behind it, or, where the store has lost
 * several, in the place of an earlier one. Of a redelivered event of an earlier attempt it says so too.
 */
export function isAnotherAttempt(payload: Uint8Array, known: JudgedAttempt): boolean {
  if (peekType(payload) !== "generation.started") return false;
  const { attempt, nonce } = decodeEvent(payload) as Extract<KnownEvent, { type: "generation.started" }>;
  return nonce === undefined ? attempt > known.attempt : nonce !== known.nonce;
}
