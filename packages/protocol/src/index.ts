export * from "./wire.ts";
export * from "./log/analytics-call.ts";
export * from "./log/audit-call.ts";
export * from "./log/call-error.ts";
export { toErrorBody } from "./errors/reprise-error.ts";
export {
  type AttemptEnd,
  type EventDraft,
  type GenerationEventDraft,
  type RequestedEvent,
  type ReviewDecision,
  type TakeoverReason,
} from "./event/event.ts";
export { FINISH_REASONS } from "./event/shapes/end.ts";
export { REVIEW_DECISIONS } from "./event/shapes/moderation.ts";
export { type BudgetCharge } from "./event/shapes/request.ts";
export { ConsumedInput } from "./event/consumed-input.ts";
export { encodeEvent, peekSeq, peekType } from "./event/event-codec.ts";
export { bytesPerSecond, type InputFormat } from "./request/fields/input-format.ts";
export {
  decodeInput,
  encodeInput,
  inputBytes,
  type InputEntry,
  type InputRecord,
} from "./input/input-record.ts";
export { type InputAppend, parseInputAppend } from "./input/parse-input.ts";
export { isProduced, type OutputAppend, type OutputEntry, parseOutputAppend } from "./output/parse-output.ts";
export { EXTERNAL_MODEL } from "./request/model-name.ts";
export * from "./log/job-subject.ts";
export * from "./log/lease-subject.ts";
export { firstWhere } from "./first-where.ts";
export {
  CAPABILITIES,
  type Capability,
  isCapability,
  type Need,
  needsOf,
  toStoredNeeds,
} from "./engine/capability.ts";
export {
  type Dialect,
  DIALECTS,
  COMMAND_CAPABILITIES,
  dialectCapabilities,
  SIM_CAPABILITIES,
  capabilitiesOf,
  capabilitiesSchema,
  contextTokensSchema,
} from "./engine/dialect.ts";
export { assertServable, type ServedBy } from "./engine/assert-servable.ts";
export { type OpenaiOptions, openaiOptionsOf, parseOpenaiOptions } from "./engine/openai-options.ts";
export { foldOptionName } from "./engine/reserved-options.ts";
export { parseSimOptions, type SimOptions } from "./engine/sim-options.ts";
export { estimateInputTokens } from "./request/estimate-input-tokens.ts";
export { usageAtEnd, withEstimatedInput } from "./event/estimated-usage.ts";
export { assertHistory } from "./request/assert-history.ts";
export { type Fault, toFault } from "./errors/fault.ts";
export { toHttpStatus } from "./errors/http-status.ts";
export {
  createGenerationId,
  deriveGenerationId,
  generationNotFound,
  isGenerationId,
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
export { BLOB_LIMITS, BLOB_TTL_SECONDS, chargeOf } from "./blob/blob-limits.ts";
export {
  type BlobId,
  blobNotFound,
  createUploadId,
  isBlobId,
  parseBlobId,
  toBlobId,
  type UploadId,
} from "./blob/blob-id.ts";
export {
  type BlobAccount,
  type BlobKey,
  type BlobRecord,
  type BlobRow,
  decodeBlobRow,
  encodeBlobRow,
  type RemovedRow,
  type SweepRow,
  type UploadRecord,
} from "./blob/blob-row.ts";
export {
  type ConversationId,
  conversationNotFound,
  isConversationId,
  parseConversationId,
  toConversationId,
} from "./request/conversation-id.ts";
export {
  BUSY_POLICIES,
  type BusyPolicy,
  type ConversationRecord,
  type ConversationSummary,
  type ConversationRow,
  type DeletedConversation,
  decodeConversationRow,
  encodeConversationRow,
  conversationOwner,
} from "./conversation/conversation-row.ts";
export {
  CONVERSATION_LIMITS,
  type ConversationRequest,
  parseConversationRequest,
} from "./conversation/conversation-request.ts";
export {
  bytesOf,
  fitPrompt,
  isPinned,
  mediaRoomOf,
  type PromptRoom,
  segmentId,
  turnsBeyondHalf,
} from "./conversation/fit-prompt.ts";
export { effectiveRequest, findOrphan, joinPrompt, toMessages } from "./event/effective-request.ts";
export { blobsIn, withoutMedia } from "./conversation/lost-media.ts";
export {
  type EndedTurn,
  hasNeverBegun,
  promptBehind,
  toSegments,
  toSummary,
  toImportedPrompt,
} from "./conversation/prompt.ts";
export {
  countedOf,
  joinWaited,
  settlePrompt,
  settleTurn,
  toAskedSegment,
  waitsOf,
} from "./conversation/settle-prompt.ts";
export type { Prompt, PromptSegment, TurnContext } from "./event/shapes/prompt.ts";
export { toTurnMessages } from "./conversation/turn-messages.ts";
export {
  FULL_POLICIES,
  type FullPolicy,
  fullPolicyOf,
  type WhenFull,
  whenFullSchema,
} from "./request/when-full.ts";
export * from "./log/conversation-subject.ts";
export * from "./log/durable-stream-subject.ts";
export * from "./log/thread-subject.ts";
export { decodeThreadRow, encodeThreadRow, type ThreadRow } from "./thread/thread-row.ts";
export { mediaTypeOf, parseMediaType, SNIFFED_BYTES } from "./blob/media-type.ts";
export * from "./log/blob-subject.ts";
export { END_USER_RULE, isEndUser } from "./request/end-user.ts";
export { encodeModelName } from "./request/model-name.ts";
export * from "./request/moderation-policy.ts";
export * from "./log/ops-record.ts";
export {
  DEFAULT_POLICY,
  type EffectivePolicy,
  effectivePolicySchema,
  policySchema,
  tightenPolicy,
} from "./request/policy.ts";
export { DEFAULT_PRIORITY, PRIORITIES } from "./request/fields/priority.ts";
export { LIMITS } from "./request/fields/limits.ts";
export { DEFAULT_FORMAT_NAME, type ResponseFormat } from "./request/fields/response-format.ts";
export {
  type ContentPart,
  type InlineMedia,
  isMediaPart,
  type MediaPart,
  parseDataUrl,
  referenceOf,
} from "./request/fields/content-part.ts";
export {
  type AssistantTurn,
  jsonBytes,
  partsOf,
  type ReasoningItem,
  textsOf,
  type ToolAnswer,
  toOutputText,
} from "./request/fields/input.ts";
export type { MediaMap, RequestMedia } from "./request/media.ts";
export { schemaPatternCost } from "./request/patterns/assert-schema-patterns.ts";
export { type PatternPrice, pricePattern } from "./request/patterns/price-pattern.ts";
export type { ToolChoice } from "./request/fields/tools.ts";
export {
  parseGenerationRequest,
  parseIdempotencyKey,
  parseToolResult,
  parseWith,
  type ToolResult,
} from "./request/request.ts";
export {
  encodeSseError,
  encodeSseFrame,
  encodeSseRetry,
  SSE_HEADERS,
  SSE_HEARTBEAT,
  SSE_RECONNECT_MS,
} from "./sse/sse-frame.ts";
export * from "./log/subject.ts";
export {
  type EffectiveTimeouts,
  MAX_TIMEOUT_MS,
  type TimeoutAnswer,
  type TimeoutName,
  timeoutError,
} from "./request/timeouts.ts";
export * from "./log/verdict.ts";
export {
  asSeq,
  asStreamSeq,
  BEYOND_LOG,
  FIRST_SEQ,
  NO_SEQ,
  plus,
  REQUEST_SEQ,
  type Seq,
  STREAM_START,
  type StreamSeq,
} from "./seq.ts";
export { asUnixMs, NEVER, plusMs, toUnixMs, type UnixMs, unixNow } from "./unix-ms.ts";
export type * from "./branded-math.ts";
export { OPTIONAL_EVENTS } from "./event/known-event.ts";
export { ANNOTATION_KINDS, BLOB_KINDS, INTERRUPTED, REVISED } from "./event/shapes/output.ts";
export { channelOf, hasText, isDelta, type TextEvent, textIn, textOf, tokensOf } from "./event/text-table.ts";
export {
  logprobsSize,
  MAX_LOGPROBS,
  MAX_LOGPROBS_SIZE,
  type TokenLogprobs,
} from "./event/shapes/token-logprobs.ts";
export { Withdrawals } from "./event/withdrawals.ts";
export { MediaTranscript } from "./event/media-transcript.ts";
export { BLOB_CHANNEL, NAME_CHANNEL } from "./event/withdrawn-text.ts";
export type { SeqRange } from "./event/withdrawn-ranges.ts";
export { failedDraft, timeoutDraft } from "./event/end-drafts.ts";
export { parseUsage } from "./event/parse-usage.ts";
export { isKnownEvent } from "./event/known-event.ts";
export { eventSchema } from "./event/event.ts";
