import { type Seq, NO_SEQ } from "../seq.ts";
import type { EventDraft, EventType, KnownEvent, TerminalType, UnknownEvent } from "./event.ts";
import { RepriseError } from "../errors/reprise-error.ts";
import { toLineJson } from "../json/to-line-json.ts";

/* What only the platform needs is marked as pure: a page's bundle leaves it out. */
const encoder = /* @__PURE__ */ new TextEncoder();
const strictDecoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const looseDecoder = /* @__PURE__ */ new TextDecoder();

/**
 * An event as it is stored and as it crosses the wire: UTF-8 JSON, one line, `seq` first and `type` second. That order is
 * part of the contract, because `peekSeq` and `peekType` read it without parsing. A draft made from an event that already
 * had a place gets the new one.
 */
export function encodeEvent(seq: Seq, draft: EventDraft): Uint8Array {
  const head = { seq, type: draft.type };
  return encoder.encode(toLineJson({ ...head, ...draft, seq }));
}

/**
 * One event from bytes. Fields are as the sender wrote them: `eventSchema` checks those of known types.
 * @throws RepriseError `protocol_violation` when the bytes are not a JSON object with a `seq` and a `type`
 */
export function decodeEvent(payload: Uint8Array | string): KnownEvent | UnknownEvent {
  let value: unknown;
  try {
    value = JSON.parse(typeof payload === "string" ? payload : strictDecoder.decode(payload));
  } catch {
    // The cause would quote a piece of the text, and errors are logged.
    throw new RepriseError("protocol_violation", "An event is not UTF-8 JSON.");
  }
  if (!isEventShape(value))
    throw new RepriseError("protocol_violation", "An event lacks a whole seq or a type.");
  return value;
}

/**
 * The `seq` of an encoded event, or `NO_SEQ` when the bytes do not begin like one. Reads at most 23 bytes, so up to 15 digits,
 * and makes no garbage.
 */
export function peekSeq(payload: Uint8Array): Seq {
  if (!holdsAt(payload, 0, SEQ_PREFIX)) return NO_SEQ;
  let seq = 0;
  let at = SEQ_PREFIX.length;
  for (; at < SEQ_PREFIX.length + MAX_SEQ_DIGITS; at++) {
    // After the payload's end this is NaN, which is no digit.
    const digit = payload[at]! - 0x30;
    if (!(digit >= 0 && digit <= 9)) break;
    seq = seq * 10 + digit;
  }
  return at > SEQ_PREFIX.length && payload[at] === COMMA ? (seq as Seq) : NO_SEQ;
}

/** The `type` of an encoded event, or "" when the bytes do not begin like one. Makes no garbage for `output.delta`. */
export function peekType(payload: Uint8Array): EventType | (string & {}) {
  if (!holdsAt(payload, 0, SEQ_PREFIX)) return "";
  const field = payload.indexOf(COMMA, SEQ_PREFIX.length) + 1;
  if (field === 0) return "";
  if (holdsAt(payload, field, DELTA_FIELD)) return "output.delta";
  if (!holdsAt(payload, field, TYPE_PREFIX)) return "";
  const start = field + TYPE_PREFIX.length;
  const end = payload.indexOf(QUOTE, start);
  if (end === -1) return "";
  const type = looseDecoder.decode(payload.subarray(start, end));
  // No type of any version holds an escape; one that did would end at the wrong quote.
  return type.includes("\\") ? "" : type;
}

export function isTerminal(type: string): type is TerminalType {
  return type === "generation.completed" || type === "generation.failed" || type === "generation.cancelled";
}

const SEQ_PREFIX = /* @__PURE__ */ encoder.encode('{"seq":');
const TYPE_PREFIX = /* @__PURE__ */ encoder.encode('"type":"');
const DELTA_FIELD = /* @__PURE__ */ encoder.encode('"type":"output.delta"');
const MAX_SEQ_DIGITS = 15;
const COMMA = 0x2c;
const QUOTE = 0x22;

function holdsAt(payload: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let i = 0; i < expected.length; i++) if (payload[at + i] !== expected[i]) return false;
  return true;
}

function isEventShape(value: unknown): value is UnknownEvent {
  if (typeof value !== "object" || value === null) return false;
  const { seq, type } = value as { seq?: unknown; type?: unknown };
  return Number.isSafeInteger(seq) && (seq as number) >= 0 && typeof type === "string";
}
