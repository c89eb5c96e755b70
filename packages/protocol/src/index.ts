export * from "./wire.ts";
export {
  type EventDraft,
  eventSchema,
  failureSchema,
  FINISH_REASONS,
  type RequestedEvent,
  usageSchema,
} from "./event.ts";
export { encodeEvent, peekSeq, peekType } from "./event-codec.ts";
export { toHttpStatus } from "./http-status.ts";
export {
  assertShard,
  createGenerationId,
  deriveGenerationId,
  type GenerationId,
  type GenerationRef,
  isGenerationId,
  isTenantId,
  isToken,
  MAX_SHARDS,
  parseGenerationId,
  parseTenantId,
  parseWorkerId,
  shardOf,
  type TenantId,
  type WorkerId,
} from "./id.ts";
export { decodeModelName, encodeModelName } from "./model-name.ts";
export {
  DEFAULT_POLICY,
  type EffectivePolicy,
  effectivePolicySchema,
  policySchema,
  tightenPolicy,
  WORKER_LOSS_ANSWERS,
} from "./policy.ts";
export {
  generationRequestSchema,
  LIMITS,
  messageSchema,
  parseGenerationRequest,
  parseIdempotencyKey,
  parseWith,
} from "./request.ts";
export { encodeSseError, encodeSseFrame, encodeSseRetry, SSE_HEADERS, SSE_HEARTBEAT } from "./sse-frame.ts";
export * from "./subject.ts";
