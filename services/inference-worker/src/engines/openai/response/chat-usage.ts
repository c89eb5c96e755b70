/** Counts that an upstream gives; null for one that it does not. */
export interface ChatUsage {
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Part of the prompt. */
  readonly cachedTokens: number | null;
  /** Part of the completion. */
  readonly reasoningTokens: number | null;
  readonly audioInputTokens: number | null;
  readonly audioOutputTokens: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a chunk's usage: from `usage` of the chunk, of its choice or of its delta, or from a gateway's own field, such as `x_groq`. A
 * malformed count is unknown, and so is 0: some upstreams send it until they have counted.
 */
export function readUsage(chunk: Fields, choice: Fields, delta: Fields): ChatUsage | undefined {
  for (const holder of [chunk, choice, delta]) {
    const usage = toUsage(fieldsOf(holder["usage"]));
    if (usage) return usage;
  }
  for (const [name, value] of Object.entries(chunk)) {
    const usage = name.startsWith("x_") ? toUsage(fieldsOf(fieldsOf(value)["usage"])) : undefined;
    if (usage) return usage;
  }
  return undefined;
}

/** Reads llama.cpp's `timings`, which count as the answer goes. */
export function readTimings(timings: unknown): ChatUsage | undefined {
  const { cache_n: cached, prompt_n: prompt, predicted_n: predicted } = fieldsOf(timings);
  const cachedTokens = detailOf(cached);
  const read = detailOf(prompt);
  const promptTokens = read === null ? null : read + (cachedTokens ?? 0) || null;
  const completionTokens = countOf(predicted);
  if (promptTokens === null && completionTokens === null) return undefined;
  return { ...UNKNOWN, promptTokens, completionTokens, cachedTokens };
}

/** Joins what an upstream has counted: the later count of each, where it gives one. */
export function joinUsage(
  earlier: ChatUsage | undefined,
  later: ChatUsage | undefined,
): ChatUsage | undefined {
  if (!earlier || !later) return later ?? earlier;
  return {
    promptTokens: later.promptTokens ?? earlier.promptTokens,
    completionTokens: later.completionTokens ?? earlier.completionTokens,
    cachedTokens: later.cachedTokens ?? earlier.cachedTokens,
    reasoningTokens: later.reasoningTokens ?? earlier.reasoningTokens,
    audioInputTokens: later.audioInputTokens ?? earlier.audioInputTokens,
    audioOutputTokens: later.audioOutputTokens ?? earlier.audioOutputTokens,
  };
}

const UNKNOWN: ChatUsage = {
  promptTokens: null,
  completionTokens: null,
  cachedTokens: null,
  reasoningTokens: null,
  audioInputTokens: null,
  audioOutputTokens: null,
};

function toUsage(usage: Fields): ChatUsage | undefined {
  const promptTokens = countOf(usage["prompt_tokens"]) ?? countOf(usage["input_tokens"]);
  const completion = countOf(usage["completion_tokens"]) ?? countOf(usage["output_tokens"]);
  if (promptTokens === null && completion === null) return undefined;
  const input = fieldsOf(usage["prompt_tokens_details"] ?? usage["input_tokens_details"]);
  const output = fieldsOf(usage["completion_tokens_details"] ?? usage["output_tokens_details"]);
  const cachedTokens = detailOf(
    input["cached_tokens"] ??
      usage["cached_tokens"] ??
      usage["prompt_cache_hit_tokens"] ??
      usage["cache_read_input_tokens"],
  );
  const reasoningTokens = detailOf(output["reasoning_tokens"] ?? usage["reasoning_tokens"]);
  return {
    promptTokens,
    completionTokens: withUnseen({
      promptTokens,
      completion,
      cachedTokens,
      reasoningTokens,
      total: countOf(usage["total_tokens"]),
    }),
    cachedTokens,
    reasoningTokens,
    audioInputTokens: countOf(input["audio_tokens"]),
    audioOutputTokens: countOf(output["audio_tokens"]),
  };
}

interface Counts extends Pick<ChatUsage, "promptTokens" | "cachedTokens" | "reasoningTokens"> {
  readonly completion: number | null;
  readonly total: number | null;
}

/** Adds reasoning that an upstream counts in its total alone (xAI, Gemini). A total above the rest may count cached tokens twice. */
function withUnseen({
  promptTokens,
  completion,
  cachedTokens,
  reasoningTokens,
  total,
}: Counts): number | null {
  if (promptTokens === null || total === null) return completion;
  const rest = total - promptTokens;
  const isReasoning = reasoningTokens !== null && rest === (completion ?? 0) + reasoningTokens;
  return rest > (completion ?? 0) && (isReasoning || !cachedTokens) ? rest : completion;
}

function countOf(value: unknown): number | null {
  return detailOf(value) || null;
}

/** A part of a count may be 0. */
function detailOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
