/*
 * The door for clients: what it takes to read a stream, and nothing else. It stays free of zod, so that a browser's bundle
 * stays small.
 */
export { type Cursor, encodeCursor, MAX_CURSOR_LENGTH, parseCursor, START } from "./event/cursor.ts";
export { ERROR_CATALOGUE, type ErrorCode, isErrorCode } from "./errors/error-code.ts";
export type {
  EventType,
  Failure,
  FinishReason,
  GenerationEvent,
  KnownEvent,
  TerminalType,
  UnknownEvent,
  Usage,
} from "./event/event.ts";
export { decodeEvent, isTerminal } from "./event/event-codec.ts";
export type { ConversationInput } from "./conversation/conversation-request.ts";
export type { JsonObject, JsonValue } from "./json-object.ts";
export { PartialJson } from "./json/partial-json.ts";
export { toLineJson } from "./json/to-line-json.ts";
export type { OutputItem, TextItem, ToolCallItem, ToolResultItem, TurnItem } from "./event/output-item.ts";
export type { Annotation } from "./event/annotation.ts";
export { isKnownType } from "./event/known-event.ts";
export type { EventPage, Generation, OutputBlob } from "./event/generation.ts";
export {
  type ErrorBody,
  RepriseError,
  type RepriseErrorOptions,
  toRepriseError,
} from "./errors/reprise-error.ts";
export type { ToolContent } from "./request/fields/content-part.ts";
export type { Message } from "./request/fields/input.ts";
export type { Tool } from "./request/fields/tools.ts";
export type { GenerationRequest } from "./request/request.ts";
export type { Policy } from "./request/policy.ts";
export type { Priority } from "./request/fields/priority.ts";
export {
  createSseDecoder,
  type SseDecoder,
  type SseDecoderOptions,
  type SseMessage,
} from "./sse/sse-decoder.ts";
export { type GenerationStatus, Transcript } from "./event/transcript.ts";
