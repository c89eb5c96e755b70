export * from "./wire.ts";
export * from "./audit-call.ts";
export {
  type AttemptEnd,
  type EventDraft,
  FINISH_REASONS,
  type RequestedEvent,
  REVIEW_DECISIONS,
  type ReviewDecision,
  type TakeoverReason,
} from "./event.ts";
export { encodeEvent, peekSeq, peekType } from "./event-codec.ts";
export * from "./filler-subject.ts";
export { firstWhere } from "./first-where.ts";
export { toHttpStatus } from "./http-status.ts";
export {
  createGenerationId,
  deriveGenerationId,
  generationNotFound,
  isTenantId,
  type GenerationId,
  type GenerationRef,
  type NodeId,
  parseGenerationId,
  parseNodeId,
  parseTenantId,
  parseWorkerId,
  shardOf,
  type TenantId,
  type WorkerId,
} from "./id.ts";
export { encodeModelName } from "./model-name.ts";
export * from "./moderation-policy.ts";
export * from "./ops-record.ts";
export {
  DEFAULT_POLICY,
  type EffectivePolicy,
  effectivePolicySchema,
  policySchema,
  tightenPolicy,
} from "./policy.ts";
export {
  LIMITS,
  parseGenerationRequest,
  parseIdempotencyKey,
  parseToolResult,
  parseWith,
  type ToolResult,
} from "./request.ts";
export {
  encodeSseError,
  encodeSseFrame,
  encodeSseRetry,
  SSE_HEADERS,
  SSE_HEARTBEAT,
  SSE_RECONNECT_MS,
} from "./sse-frame.ts";
export * from "./subject.ts";
export { type EffectiveTimeouts, type TimeoutAnswer, type TimeoutName } from "./timeouts.ts";
export { timeoutError } from "./timeout-error.ts";
export * from "./verdict.ts";
export { channelOf, hasText, textIn, textOf, Withdrawals } from "./withdrawals.ts";
export { NAME_CHANNEL } from "./withdrawn-text.ts";
export type { SeqRange } from "./withdrawn-ranges.ts";
export { eventSchema } from "./event.ts";
