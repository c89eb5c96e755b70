import { decodeEvent, type KnownEvent, peekType } from "@reprise/protocol";
import type { JudgedAttempt } from "./judge.ts";

/** Whether an event begins an attempt that comes behind the one that is known, or has its number and is another one. */
export function isLaterAttempt(payload: Uint8Array, known: JudgedAttempt): boolean {
  if (peekType(payload) !== "generation.started") return false;
  const { attempt, nonce } = decodeEvent(payload) as Extract<KnownEvent, { type: "generation.started" }>;
  return attempt > known.attempt || (attempt === known.attempt && nonce !== known.nonce);
}
