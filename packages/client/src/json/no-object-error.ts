import type { GenerationOutcome } from "../stream/outcome.ts";

/** The generation has ended without a whole value: it failed, was cut, or does not fit its schema. `outcome` says which, and has the text. */
export class NoObjectError extends Error {
  readonly outcome: GenerationOutcome;

  constructor(outcome: GenerationOutcome, options?: { cause?: unknown }) {
    super(`The generation has no whole value: ${outcome.finishReason ?? outcome.status}.`, options);
    this.name = "NoObjectError";
    this.outcome = outcome;
  }
}
