import { type EffectivePolicy, RepriseError, type Transcript } from "@reprise/protocol";
import { NO_PREFIX, type Prefix } from "../engines/engine.ts";

/** What a worker does with a job, given what the generation's log says. */
export type Plan =
  /** The generation has ended; only the job is left. */
  | { kind: "done" }
  /** End the generation: it can't be run (any more). */
  | { kind: "fail"; error: RepriseError }
  /** Run the engine. `rewind`: what was shown so far is to be withdrawn first, because the engine begins anew. */
  | { kind: "run"; attempt: number; prefix: Prefix; rewind: boolean };

export function planAttempt(transcript: Transcript, policy: EffectivePolicy, canContinue: boolean): Plan {
  const { ended, attempt: lastAttempt, text, usage } = transcript;
  if (ended) return { kind: "done" };
  const attempt = lastAttempt + 1;
  const mayGoOn = attempt <= policy.max_attempts && policy.on_worker_loss !== "fail";
  if (attempt > 1 && !mayGoOn) return { kind: "fail", error: workerLost(lastAttempt) };
  if (text !== "" && policy.on_worker_loss === "continue" && canContinue) {
    return {
      kind: "run",
      attempt,
      prefix: {
        text,
        tokens: transcript.output.reduce((sum, item) => sum + (item.type === "text" ? item.tokens : 0), 0),
      },
      rewind: false,
    };
  }
  // Reasoning counts too: readers have seen it.
  return { kind: "run", attempt, prefix: NO_PREFIX, rewind: usage.output_tokens > 0 };
}

function workerLost(attempts: number): RepriseError {
  return new RepriseError(
    "worker_lost",
    `The worker of attempt ${attempts} was lost, and the policy allows no further one.`,
  );
}
