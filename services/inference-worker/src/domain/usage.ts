import type { Usage } from "@reprise/protocol";
import type { CallCount } from "./tool-calls.ts";

/** The engine's count of a turn, minus the log's count of it. */
export interface TurnRest {
  /** Output tokens; negative if the engine counts fewer tokens than the log does. */
  readonly tokens: number;
  /** The part of `tokens` that is reasoning; undefined if the engine does not report it. */
  readonly reasoningTokens: number | undefined;
  readonly inputTokens: number | undefined;
  readonly cachedInputTokens: number | undefined;
  readonly audioInputTokens: number | undefined;
  readonly audioOutputTokens: number | undefined;
}

/** The log's count of a turn's tokens, and of its reasoning tokens. */
export interface TurnCount {
  readonly counted: number;
  readonly reasoned: number;
}

/**
 * The log counts chunks. An engine's own count of a turn is exact, where it gives one, and counts what is in no chunk, such as a tool call
 * or reasoning that it hides.
 * @param reported what the engine says of the turn
 */
export function toTurnRest({ counted, reasoned }: TurnCount, reported: Partial<Usage> | undefined): TurnRest {
  const { output_tokens: output = counted, reasoning_tokens: reasoning } = reported ?? {};
  return {
    tokens: output - counted,
    reasoningTokens: reasoning === undefined ? undefined : reasoning - reasoned,
    inputTokens: reported?.input_tokens ?? undefined,
    cachedInputTokens: reported?.cached_input_tokens,
    audioInputTokens: reported?.audio_input_tokens,
    audioOutputTokens: reported?.audio_output_tokens,
  };
}

/**
 * Returns the counts that the first call of a turn carries, so that every process that continues or ends the log counts the same. If an engine counts
 * less than the log, nothing is taken back: stored deltas keep their tokens.
 * @param logged the log's usage before the turn
 */
export function toCallCount(rest: TurnRest, logged: Usage): CallCount {
  const { tokens, reasoningTokens, inputTokens, cachedInputTokens } = rest;
  const { audioInputTokens, audioOutputTokens } = rest;
  const isInputKnown = logged.input_tokens !== null;
  const isCachedKnown = logged.cached_input_tokens !== undefined;
  return {
    ...(tokens > 0 && { tokens }),
    ...(reasoningTokens !== undefined && { reasoning_tokens: Math.max(0, reasoningTokens) }),
    ...(!isInputKnown && inputTokens !== undefined && { input_tokens: inputTokens }),
    ...(!isCachedKnown && cachedInputTokens !== undefined && { cached_input_tokens: cachedInputTokens }),
    ...(logged.audio_input_tokens === undefined &&
      audioInputTokens !== undefined && { audio_input_tokens: audioInputTokens }),
    ...(audioOutputTokens !== undefined && { audio_output_tokens: audioOutputTokens }),
  };
}

/**
 * Returns the usage of a generation over all attempts, after its last turn. The input is the first count that is known: an engine that
 * continues a text or a tool's answer reports both as input.
 * @param logged the log's usage, the turn's deltas included
 */
export function addTurnRest(logged: Usage, rest: TurnRest): Usage {
  const cached = logged.cached_input_tokens ?? rest.cachedInputTokens;
  const reasoning =
    rest.reasoningTokens === undefined
      ? logged.reasoning_tokens
      : (logged.reasoning_tokens ?? 0) + rest.reasoningTokens;
  const audioInput = logged.audio_input_tokens ?? rest.audioInputTokens;
  const audioOutput = (logged.audio_output_tokens ?? 0) + (rest.audioOutputTokens ?? 0);
  return {
    input_tokens: logged.input_tokens ?? rest.inputTokens ?? null,
    output_tokens: logged.output_tokens + rest.tokens,
    ...(cached !== undefined && { cached_input_tokens: cached }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...(audioInput !== undefined && { audio_input_tokens: audioInput }),
    ...(audioOutput > 0 && { audio_output_tokens: audioOutput }),
  };
}
