import { createSseDecoder } from "@reprise/protocol";
import { EngineError, type EngineRetry } from "../../engine-error.ts";

/** One message of an answer. */
export type AnswerFrame =
  | { readonly kind: "chunk"; readonly json: Readonly<Record<string, unknown>> }
  /** `[DONE]`, or the end of an answer that came in one piece. */
  | { readonly kind: "done" }
  | { readonly kind: "error"; readonly error: unknown }
  /** It holds no content, and is not known to be harmless. */
  | { readonly kind: "unknown" }
  /** It may hold content, and can't be read. */
  | { readonly kind: "unreadable"; readonly error: EngineError };

export interface AnswerFrames {
  /** @throws EngineError `engine_failed` for a message that is too long */
  push(bytes: Uint8Array): AnswerFrame[];
  /** Takes the end of the body: an answer in one piece is whole only then. */
  end(): AnswerFrame[];
}

const DONE_FRAME: AnswerFrame = { kind: "done" };
/** Names of events that keep a connection alive; their data say nothing. */
const NOISE_EVENTS: ReadonlySet<string> = new Set(["ping", "heartbeat", "keepalive", "keep-alive"]);
/** Words that keep a connection alive. */
const NOISE = /^(?:ping|pong|keep-?alive|heart-?beat|alive|ok|connected|noop|true|\d{1,16})?$/i;
/** Another word is no content either, since a model's words come as JSON. It may be an error. */
const WORD = /^(?!\w*(?:err|fail|timeout|abort))[\w-]{1,32}$/i;
/** Fields with which an object without choices and usage is an error, and those with which it may be one. */
const ERROR_FIELDS = ["errors", "detail", "error_code", "error_msg", "internalServerException"];
const ERROR_CODE = /error|fail|invalid|throttl|limit|exceed|denied|unavailable|internal|[45]\d\d/i;
const MESSAGE_FIELDS = ["message", "msg"];
const EMPTY_LINE = new TextEncoder().encode("\n\n");
const LONGEST_ANSWER = 16_777_216;

/**
 * Reads the body of an answer as messages, under any `Content-Type`: the first character tells a stream of events from a
 * whole answer in JSON, which some servers and gateways give though a stream was asked for.
 */
export function createAnswerFrames({ maxMessageLength }: { maxMessageLength: number }): AnswerFrames {
  const utf8 = new TextDecoder();
  const decoder = createSseDecoder({ maxMessageLength });
  /** The start of the body, until its first character that is no blank. */
  let start: Uint8Array[] = [];
  let isEvents: boolean | undefined;
  let document = "";

  const decode = (bytes: Uint8Array) => {
    try {
      return decoder.push(bytes).flatMap(toFrames);
    } catch {
      throw failed(`The engine sent a message of more than ${maxMessageLength} characters.`, "never");
    }
  };
  const addToDocument = (bytes: Uint8Array) => {
    document += utf8.decode(bytes, { stream: true });
    if (document.length > LONGEST_ANSWER)
      throw failed(`The engine sent an answer of more than ${LONGEST_ANSWER} characters.`, "never");
    return [];
  };
  return {
    push(bytes) {
      if (isEvents === undefined) {
        const first = bytes.find((byte) => !isBlank(byte));
        if (first === undefined) {
          start.push(bytes);
          return [];
        }
        isEvents = !isDocument(first);
        const skipped = start;
        start = [];
        if (isEvents) return [...skipped, bytes].flatMap(decode);
      }
      return isEvents ? decode(bytes) : addToDocument(bytes);
    },
    end() {
      // The last message may have no empty line after it.
      if (isEvents !== false) return decode(EMPTY_LINE);
      const json = tryJson(document) ?? tryJson(withoutNaN(document));
      if (isFields(json)) return "choices" in json ? [toChunk(json), DONE_FRAME] : [toError(json)];
      if (json === undefined && document.trim().includes("\n")) return toChunks(document, false);
      return [toUnreadable("The engine answered 200, but not with text/event-stream.", "never")];
    },
  };
}

function toFrames({ event, data }: { event: string; data: string }): AnswerFrame[] {
  if (event === "error") return [toError(tryJson(data) ?? data)];
  return NOISE_EVENTS.has(event.toLowerCase()) ? [] : toChunks(data, event !== "message");
}

/**
 * Reads what a message has: one chunk, or several that a server has put into lines without an empty one between them.
 * @param isNamed whether the message has a name of its own: then it may be no chunk
 */
function toChunks(data: string, isNamed: boolean): AnswerFrame[] {
  // Some proxies put a field's name in front of one that has it.
  const text = data.startsWith("data:") ? data.replace(/^(?:data:\s*)+/, "").trim() : data.trim();
  if (/^"?\[done\]/i.test(text)) return [DONE_FRAME];
  if (NOISE.test(text)) return [];
  const json = tryJson(text) ?? tryJson(withoutNaN(text));
  if (isFields(json)) return [toChunk(json)];
  if (json === null || json === "" || text.startsWith(":") || (Array.isArray(json) && json.length === 0))
    return [];
  if (json === undefined && text.includes("\n"))
    return text.split("\n").flatMap((line) => toChunks(line, isNamed));
  if ((isNamed && !/^[[{]/.test(text)) || WORD.test(text)) return [{ kind: "unknown" }];
  // The parser's own message quotes what the model said.
  const what = json === undefined ? "not JSON" : "not one of a chat completion";
  return [toUnreadable(`The engine sent a chunk that is ${what}.`, "broken")];
}

function isError(json: Readonly<Record<string, unknown>>): boolean {
  if (json["object"] === "error" || json["type"] === "error") return true;
  const { error, choices, usage, base_resp: answered } = json;
  // Some say `error: {}` beside content.
  if (isFields(error) ? Object.keys(error).length > 0 : Boolean(error)) return true;
  if (isFields(answered) && Number(answered["status_code"]) > 0) return true;
  const [first] = Array.isArray(choices) ? (choices as unknown[]) : [];
  if (isFields(first) && isFields(first["error"]) && !first["finish_reason"]) return true;
  if (choices !== undefined || usage !== undefined) return false;
  const { code } = json;
  const isCode = typeof code === "number" ? code >= 400 : typeof code === "string" && ERROR_CODE.test(code);
  return isCode || ERROR_FIELDS.some((field) => Boolean(json[field]));
}

/** Python writes numbers that JSON does not have, such as the logarithm of 0. */
function withoutNaN(text: string): string {
  if (!/NaN|Infinity/.test(text)) return text;
  // The last string of a text that was cut has no end.
  return text.replace(/"(?:[^"\\]|\\.)*"?|-?\b(?:NaN|Infinity)\b/g, (part) =>
    part.startsWith('"') ? part : "null",
  );
}

function toChunk(json: Readonly<Record<string, unknown>>): AnswerFrame {
  if (isError(json)) return toError(json);
  const isChunk = json["choices"] !== undefined || json["usage"] !== undefined;
  const mayBeError = !isChunk && MESSAGE_FIELDS.some((field) => Boolean(json[field]));
  return mayBeError ? { kind: "unknown" } : { kind: "chunk", json };
}

function toError(error: unknown): AnswerFrame {
  return { kind: "error", error };
}

function toUnreadable(message: string, retry: EngineRetry): AnswerFrame {
  return { kind: "unreadable", error: failed(message, retry) };
}

/** Blanks, and the bytes of a byte order mark. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0xef || byte === 0xbb || byte === 0xbf;
}

/** `{`, `[` and `<`, with which no field of an event begins. */
function isDocument(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b || byte === 0x3c;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function failed(message: string, retry: EngineRetry): EngineError {
  return new EngineError("engine_failed", message, { retry });
}

/** Parses a text as JSON; undefined if it is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
