/**
 * Attributes of calls of a model, by OpenTelemetry's GenAI conventions as of 1.45 (in development). These are the names that back ends read
 * today; where the conventions rename one, this file alone changes.
 */
export const GEN_AI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  stream: "gen_ai.request.stream",
  maxTokens: "gen_ai.request.max_tokens",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  /** On metrics: `input` or `output`. */
  tokenType: "gen_ai.token.type",
  /** Where content is switched on, and nowhere else. */
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
} as const;

/**
 * Metrics of calls of a model. Prometheus's spelling of them, with labels and buckets, is in `packages/runtime/src/metric-names/worker-metrics.ts`, beside all others that
 * workers expose; a test there compares both.
 */
export const GEN_AI_METRIC = {
  duration: "gen_ai.client.operation.duration",
  firstChunk: "gen_ai.client.operation.time_to_first_chunk",
  perOutputChunk: "gen_ai.client.operation.time_per_output_chunk",
  tokens: "gen_ai.client.token.usage",
} as const;

/** Values of `gen_ai.operation.name`; `fetch_response` is ours. */
export const GEN_AI_OPERATION = {
  chat: "chat",
  tool: "execute_tool",
  fetch: "fetch_response",
} as const;
