import type { EffectivePolicy, Transcript } from "@reprise/protocol";
import { NO_PREFIX, type Prefix } from "../engines/engine.ts";

/** What a worker does with a job, given what the generation's log says. */
export type Plan =
  /** The generation has ended; only the job is left. */
  | { kind: "done" }
  /** No (further) attempt is permitted. */
  | { kind: "give_up" }
  /** Run the engine. `rewind`: what was shown so far is to be withdrawn first, because the engine begins anew. */
  | { kind: "run"; attempt: number; prefix: Prefix; rewind: boolean };

export function planAttempt(transcript: Transcript, policy: EffectivePolicy, canContinue: boolean): Plan {
  if (transcript.ended) return { kind: "done" };
  const attempt = transcript.attempt + 1;
  if (attempt === 1) return { kind: "run", attempt, prefix: NO_PREFIX, rewind: false };
  if (attempt > policy.max_attempts || policy.on_worker_loss === "fail") return { kind: "give_up" };
  if (transcript.text === "") return { kind: "run", attempt, prefix: NO_PREFIX, rewind: false };
  if (policy.on_worker_loss === "continue" && canContinue) {
    return {
      kind: "run",
      attempt,
      prefix: { text: transcript.text, tokens: transcript.textTokens },
      rewind: false,
    };
  }
  return { kind: "run", attempt, prefix: NO_PREFIX, rewind: true };
}
