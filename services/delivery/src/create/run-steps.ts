import { RepriseError } from "@reprise/protocol";
import type { Creating } from "./creating.ts";

/** One step of a create. What it finds out is in `Creating`, for the steps after it. */
export interface Step {
  readonly name: string;
  /** Returns "done" if there is nothing left to do, or the step to repeat from. */
  run(creating: Creating): Promise<undefined | "done" | { readonly repeatFrom: string }>;
  /** Takes back what `run` did, after a later step has failed. */
  undo?(creating: Creating): Promise<void> | void;
  /** Takes back what `run` did, if the generation's id turns out to be another request's: the rest is that one's. */
  yield?(creating: Creating): Promise<void>;
  /** Once this step begins, the generation may exist even if the call fails: a failure undoes nothing. */
  readonly isFinal?: boolean;
}

/**
 * Runs steps in order. If one fails, the steps before it are undone in reverse order and the failure is thrown; after the final step has begun, they only
 * yield to another request's generation.
 * @param onError called if an undo fails
 */
export async function runSteps(
  steps: readonly Step[],
  creating: Creating,
  onError: (error: unknown) => void,
): Promise<void> {
  const done = new Set<Step>();
  let isFinal = false;
  try {
    for (let at = 0; at < steps.length;) {
      const step = steps[at++] as Step;
      isFinal ||= step.isFinal === true;
      const next = await step.run(creating);
      if (next === "done") return;
      if (!next) done.add(step);
      else at = steps.findIndex(({ name }) => name === next.repeatFrom);
    }
  } catch (error) {
    const isOthers = error instanceof RepriseError && error.code === "idempotency_conflict";
    for (const step of [...done].toReversed()) {
      try {
        if (!isFinal) await step.undo?.(creating);
        else if (isOthers) await step.yield?.(creating);
      } catch (failure) {
        onError(failure);
      }
    }
    throw error;
  }
}
