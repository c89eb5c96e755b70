import type { EventDraft, EventType, KnownEvent, TerminalType, UnknownEvent } from "./event.ts";
import { RepriseError } from "./reprise-error.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * An event as it is stored and as it crosses the wire: UTF-8 JSON, one line, `seq` first and `type` second. That order is
 * part of the contract, because `peekSeq` and `peekType` read it without parsing.
 */
export function encodeEvent(seq: number, draft: EventDraft): Uint8Array {
  const { type, ...fields } = draft;
  return encoder.encode(JSON.stringify({ seq, type, ...fields }));
}

/**
 * One event from bytes. Fields are as the sender wrote them: `eventSchema` checks those of known types.
 * @throws RepriseError `protocol_violation` when the bytes are not a JSON object with a `seq` and a `type`
 */
export function decodeEvent(payload: Uint8Array | string): KnownEvent | UnknownEvent {
  let value: unknown;
  try {
    value = JSON.parse(typeof payload === "string" ? payload : decoder.decode(payload));
  } catch (cause) {
    throw new RepriseError("protocol_violation", "An event is not UTF-8 JSON.", { cause });
  }
  if (!isEventShape(value)) throw new RepriseError("protocol_violation", "An event lacks a whole seq or a type.");
  return value;
}

/** The `seq` of an encoded event, or -1 when the bytes do not begin like one. Reads at most 24 bytes and makes no garbage. */
export function peekSeq(payload: Uint8Array): number {
  for (let i = 0; i < SEQ_PREFIX.length; i++) if (payload[i] !== SEQ_PREFIX[i]) return -1;
  let seq = 0;
  let at = SEQ_PREFIX.length;
  for (; at < 24; at++) {
    const digit = payload[at]! - 0x30;
    if (!(digit >= 0 && digit <= 9)) break;
    seq = seq * 10 + digit;
  }
  return at > SEQ_PREFIX.length && payload[at] === COMMA ? seq : -1;
}

/** The `type` of an encoded event, or "" when the bytes do not begin like one. Makes no garbage for `output.delta`. */
export function peekType(payload: Uint8Array): EventType | (string & {}) {
  const start = payload.indexOf(COMMA, SEQ_PREFIX.length) + 1 + TYPE_PREFIX.length;
  if (start === TYPE_PREFIX.length) return "";
  const end = payload.indexOf(QUOTE, start);
  if (end === start + DELTA_LENGTH && payload[start] === LETTER_O) return "output.delta";
  return end === -1 ? "" : decoder.decode(payload.subarray(start, end));
}

export function isTerminal(type: string): type is TerminalType {
  return type === "generation.completed" || type === "generation.failed" || type === "generation.cancelled";
}

const SEQ_PREFIX = encoder.encode('{"seq":');
const TYPE_PREFIX = encoder.encode('"type":"');
const DELTA_LENGTH = "output.delta".length;
const COMMA = 0x2c;
const QUOTE = 0x22;
const LETTER_O = 0x6f;

function isEventShape(value: unknown): value is UnknownEvent {
  if (typeof value !== "object" || value === null) return false;
  const { seq, type } = value as { seq?: unknown; type?: unknown };
  return Number.isSafeInteger(seq) && (seq as number) >= 0 && typeof type === "string";
}
