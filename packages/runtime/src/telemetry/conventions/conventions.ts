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

/** Attributes of HTTP spans, by OpenTelemetry's semantic conventions 1.38 (stable). */
export const HTTP = {
  method: "http.request.method",
  route: "http.route",
  status: "http.response.status_code",
  errorType: "error.type",
} as const;

/** The server that a client's span asks, by the same conventions (stable). */
export const SERVER = { address: "server.address", port: "server.port" } as const;

/** Attributes of ours, for which there is no convention. */
export const REPRISE = {
  tenant: "reprise.tenant",
  generation: "reprise.generation",
  model: "reprise.model",
  request: "reprise.request",
  attempt: "reprise.attempt",
  result: "reprise.result",
  moderation: "reprise.moderation_mode",
  seq: "reprise.seq",
  queueWaitMs: "reprise.queue_wait_ms",
  /** Time of a call that is no stream and no long-poll: from its arrival to the head of its answer. */
  answerMs: "reprise.answer_ms",
  /** On a turn: the longest wait for the engine after its first output. */
  longestWaitMs: "reprise.longest_wait_ms",
  deliveries: "reprise.deliveries",
  fromSeq: "reprise.from_seq",
  lastSeq: "reprise.last_seq",
  fromStreamSeq: "reprise.from_stream_seq",
  lastStreamSeq: "reprise.last_stream_seq",
  resumed: "reprise.resumed",
  readersLeftOut: "reprise.readers_without_span",
} as const;

/** Attributes of spans over the broker, by OpenTelemetry's semantic conventions 1.38 (messaging, in development). */
export const MESSAGING = {
  system: "messaging.system",
  operation: "messaging.operation.name",
  operationType: "messaging.operation.type",
  destination: "messaging.destination.name",
  template: "messaging.destination.template",
  messageId: "messaging.message.id",
  batch: "messaging.batch.message_count",
} as const;

/** Subjects have a tenant and a generation in them: spans name their form. */
export const JOB_SPAN = {
  [MESSAGING.system]: "nats",
  [MESSAGING.destination]: "JOBS",
  [MESSAGING.template]: "job.{model}.{tenant}.{generation}",
} as const;

export const LOG_SPAN = {
  [MESSAGING.system]: "nats",
  [MESSAGING.destination]: "GENERATIONS",
  [MESSAGING.template]: "gen.{shard}.{tenant}.{generation}",
} as const;
