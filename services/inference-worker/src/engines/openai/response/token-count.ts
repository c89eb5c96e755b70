import type { Usage } from "@reprise/protocol";
import type { EngineEvent, SealedEvent, SummaryEvent } from "../../engine.ts";
import type { ChatChunk } from "./chat-chunk.ts";
import type { ChatUsage } from "./chat-usage.ts";

/**
 * Counts the tokens of an answer's pieces: by the upstream's own count if it counts while it streams, else one for every piece.
 *
 * An upstream may hold tokens back, for half a character or for the possible start of a tool call: they are counted with the next piece. Tokens that it
 * counts for a piece of a tool call are in no text.
 */
export class TokenCount {
  readonly #producedTokens: number;
  /** Pieces of text, of summaries and of tool calls. */
  #pieces = 0;
  #progress: ChatUsage | undefined;
  /** The tokens attributed to the pieces so far: their part of the upstream's count, else one each. */
  #attributed = 0;
  #begun = false;

  /** @param producedTokens how many tokens of the upstream's input this generation has produced itself */
  constructor(producedTokens: number) {
    this.#producedTokens = producedTokens;
  }

  /** The texts of a chunk. The first of all has the count of the input. */
  toEvents(chunk: ChatChunk): EngineEvent[] {
    this.#progress = chunk.progress ?? this.#progress;
    const { reasoning, text, refusal, toolCalls } = chunk;
    const events: EngineEvent[] = chunk.thoughts.map((thought) => this.#toThought(thought, chunk.progress));
    if (reasoning !== "") events.push(this.#toEvent("reasoning", reasoning, chunk.progress));
    if (text !== "") events.push(this.#toEvent("text", text, chunk.progress));
    if (refusal !== "") events.push(this.#toEvent("refusal", refusal, chunk.progress));
    if (toolCalls.length > 0) this.#take(chunk.progress);
    return events;
  }

  /** @param usage what the upstream has reported at the end */
  total(usage: ChatUsage | undefined): Usage {
    const { completionTokens } = usage ?? this.#progress ?? { completionTokens: null };
    const output = completionTokens ?? this.#progress?.completionTokens ?? this.#pieces;
    const input = this.#inputTokens(usage ?? this.#progress);
    // llama.cpp says in its timings alone what it had cached.
    const cached = this.#cachedTokens(usage) ?? this.#cachedTokens(this.#progress);
    const audioInputTokens = usage?.audioInputTokens ?? 0;
    const audioOutputTokens = usage?.audioOutputTokens ?? 0;
    const reasoning = usage?.reasoningTokens ?? this.#progress?.reasoningTokens;
    return {
      input_tokens: input,
      output_tokens: output,
      ...(cached !== undefined && { cached_input_tokens: cached }),
      ...(reasoning !== undefined && reasoning !== null && { reasoning_tokens: Math.min(reasoning, output) }),
      ...(audioInputTokens > 0 && {
        audio_input_tokens: Math.min(audioInputTokens, input ?? audioInputTokens),
      }),
      ...(audioOutputTokens > 0 && { audio_output_tokens: Math.min(audioOutputTokens, output) }),
    };
  }

  #toEvent(
    type: "text" | "reasoning" | "refusal",
    text: string,
    progress: ChatUsage | undefined,
  ): EngineEvent {
    const tokens = this.#take(progress);
    const inputTokens = this.#begun ? null : this.#inputTokens(progress && this.#progress);
    const cachedInputTokens = this.#begun ? undefined : this.#cachedTokens(progress);
    this.#begun = true;
    return {
      type,
      text,
      ...(tokens !== 1 && { tokens }),
      ...(inputTokens !== null && { inputTokens }),
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    };
  }

  /** Sealed reasoning has no tokens of its own; they are counted with the next piece. */
  #toThought(thought: SummaryEvent | SealedEvent, progress: ChatUsage | undefined): EngineEvent {
    if (thought.type === "sealed") return thought;
    const tokens = this.#take(progress);
    return tokens === 1 ? thought : { ...thought, tokens };
  }

  #take(progress: ChatUsage | undefined): number {
    this.#pieces++;
    const counted = progress?.completionTokens ?? this.#attributed + 1;
    const tokens = Math.max(counted - this.#attributed, 0);
    this.#attributed += tokens;
    return tokens;
  }

  /** Returns the cached part of the input, limited as `#inputTokens` is: earlier output may be cached too. */
  #cachedTokens(usage: ChatUsage | undefined): number | undefined {
    const { cachedTokens = null } = usage ?? {};
    const input = this.#inputTokens(usage);
    return cachedTokens === null || input === null ? undefined : Math.min(cachedTokens, input);
  }

  /** An upstream that continues counts what was said before as part of its input; here it is output of an earlier attempt or turn. */
  #inputTokens(usage: ChatUsage | undefined): number | null {
    const { promptTokens = null } = usage ?? {};
    return promptTokens === null ? null : Math.max(promptTokens - this.#producedTokens, 0);
  }
}
