import type { JsonValue } from "@reprise/protocol/wire";
import type { GenerationStream } from "../stream/generation-stream.ts";
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

/**
 * The whole value that a generation with `response_format` has written. Reads the stream to its end, unless the app iterates it.
 * @throws NoObjectError where there is none, or the platform knows that it does not fit its schema; what the stream throws
 */
export async function objectOf<T = JsonValue>(stream: GenerationStream): Promise<T> {
  const outcome = await stream.done();
  if (outcome.status !== "completed" || outcome.finishReason === "schema_mismatch")
    throw new NoObjectError(outcome);
  try {
    return JSON.parse(stream.answer) as T;
  } catch (cause) {
    throw new NoObjectError(outcome, { cause });
  }
}
