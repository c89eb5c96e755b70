/**
 * Attributes of calls of a model, by OpenTelemetry's GenAI conventions as of 1.38 (in development). These are the names that back ends read
 * today; where the conventions rename one, this file alone changes.
 */
export const GEN_AI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  maxTokens: "gen_ai.request.max_tokens",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  /** Where content is switched on, and nowhere else. */
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
} as const;

/** Values of `gen_ai.operation.name`; `fetch_response` is ours. */
export const GEN_AI_OPERATION = {
  chat: "chat",
  tool: "execute_tool",
  fetch: "fetch_response",
} as const;
