/*
 * The door for clients: what it takes to read a stream, and nothing else. It stays free of zod, so that a browser's bundle
 * stays small.
 */
export { type Cursor, encodeCursor, MAX_CURSOR_LENGTH, parseCursor, START } from "./cursor.ts";
export { ERROR_CATALOGUE, type ErrorCode, isErrorCode } from "./error-code.ts";
export type {
  EventType,
  Failure,
  FinishReason,
  GenerationEvent,
  KnownEvent,
  TerminalType,
  UnknownEvent,
  Usage,
} from "./event.ts";
export { decodeEvent, isTerminal } from "./event-codec.ts";
export type { JsonValue } from "./json-object.ts";
export type { OutputItem, TextItem, ToolCallItem, ToolResultItem } from "./output-item.ts";
export type { EventPage, Generation } from "./generation.ts";
export { type ErrorBody, RepriseError, type RepriseErrorOptions, toRepriseError } from "./reprise-error.ts";
export type { GenerationRequest, Message, Tool } from "./request.ts";
export type { Policy } from "./policy.ts";
export { createSseDecoder, type SseDecoder, type SseDecoderOptions, type SseMessage } from "./sse-decoder.ts";
export { type GenerationStatus, Transcript } from "./transcript.ts";
