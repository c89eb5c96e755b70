import type { Usage } from "@reprise/protocol";

/**
 * What a generation has used, over all attempts. The log counts chunks. An engine's own count of a turn is exact, where it gives
 * one, and counts what is in no chunk, such as a tool call; this worker adds to the log's what it was told so.
 *
 * The input is what was known of it first: an engine that goes on behind a text or a tool's answer reports both as input.
 */
export class UsageTally {
  #inputTokens: number | null = null;
  #uncounted = 0;

  /**
   * Adds a turn.
   * @param counted how many tokens its chunks are
   * @param reported what the engine says of it
   */
  add(counted: number, reported: Partial<Usage> | undefined): void {
    this.#inputTokens ??= reported?.input_tokens ?? null;
    this.#uncounted += (reported?.output_tokens ?? counted) - counted;
  }

  /** @param logged what the log says, the turns that were added included */
  total({ input_tokens: input, output_tokens: output }: Usage): Usage {
    return { input_tokens: input ?? this.#inputTokens, output_tokens: output + this.#uncounted };
  }
}
