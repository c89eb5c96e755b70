import { isUtf8 } from "node:buffer";
import { decodeEvent, eventSchema, isKnownEvent, peekSeq, peekType, type Seq } from "@reprise/protocol";

const encoder = new TextEncoder();
/** Beginnings of deltas after their `seq`, the most frequent first. */
const TEXTS = ["output.delta", "reasoning.delta", "refusal.delta", "reasoning.summary.delta"].map((type) =>
  encoder.encode(`"type":"${type}","text":"`),
);
const PART = encoder.encode(',"part":');
const TOKENS = encoder.encode(',"tokens":');
const MAX_DIGITS = 15;
const ZERO = 0x30;
const NINE = 0x39;
const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSE = 0x7d;
const FIRST_PRINTABLE = 0x20;
const FIRST_NON_ASCII = 0x80;

/** By their second byte; what follows `\u` is left to the whole check. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set(encoder.encode('"\\/bfnrt'));

/**
 * True if bytes are an event at this place, as any version of the platform writes one. A client that can publish to the broker can also publish other
 * bytes, and readers are sent the bytes of a log unchanged.
 *
 * Nearly all events are deltas with only text and a number or two: those are scanned, which makes no garbage. All others are parsed.
 */
export function isEventAt(seq: Seq, payload: Uint8Array): boolean {
  if (peekSeq(payload) !== seq) return false;
  // No reader is sent the request, which may be large: it is checked where it is parsed.
  if (seq === 0) return peekType(payload) === "generation.requested";
  return isPlainDelta(payload) || isWholeEvent(payload);
}

/** True if it is `{"seq":n,"type":"output.delta","text":"…"}`, or another delta, perhaps with `"part":n` and `"tokens":n`, and nothing else. */
function isPlainDelta(payload: Uint8Array): boolean {
  const type = payload.indexOf(COMMA) + 1;
  let text = 0;
  for (let i = 0; text === 0 && i < TEXTS.length; i++) text = skip(payload, type, TEXTS[i]!);
  if (text === 0) return false;
  let isAscii = true;
  for (let at = text; at < payload.length; at++) {
    // `at` is less than the payload's length.
    const byte = payload[at]!;
    if (byte >= FIRST_NON_ASCII) isAscii = false;
    else if (byte === QUOTE) return isEnd(payload, at + 1) && (isAscii || isUtf8(payload));
    else if (byte < FIRST_PRINTABLE) return false;
    // After the payload's end it is undefined, which is no escape.
    else if (byte === BACKSLASH && !SIMPLE_ESCAPES.has(payload[++at]!)) return false;
  }
  return false;
}

/** Where `expected` ends, which begins at `at`; 0 when it does not. */
function skip(payload: Uint8Array, at: number, expected: Uint8Array): number {
  for (let i = 0; i < expected.length; i++) if (payload[at + i] !== expected[i]) return 0;
  return at + expected.length;
}

function isEnd(payload: Uint8Array, textEnd: number): boolean {
  const at = skipCount(payload, skipCount(payload, textEnd, PART), TOKENS);
  return payload[at] === CLOSE && at === payload.length - 1;
}

/** Where a field of this name ends, whose value is a count; `at` where there is none, -1 where its value is another one. */
function skipCount(payload: Uint8Array, at: number, name: Uint8Array): number {
  const digits = skip(payload, at, name);
  if (digits === 0) return at;
  let end = digits;
  // After the payload's end it is undefined, which is no digit.
  for (; payload[end]! >= ZERO && payload[end]! <= NINE; end++);
  // A number in JSON does not begin with a 0, unless it is one.
  const isPadded = payload[digits] === ZERO && end > digits + 1;
  return end === digits || end > digits + MAX_DIGITS || isPadded ? -1 : end;
}

/** For a type that this version does not know, only the fields that every event has are checked; unknown fields and names are accepted. */
function isWholeEvent(payload: Uint8Array): boolean {
  try {
    // Between its fields JSON may have line breaks. An event is a line, and is sent as one.
    if (payload.includes(LF) || payload.includes(CR)) return false;
    const event = decodeEvent(payload);
    if (event.seq !== peekSeq(payload) || event.type !== peekType(payload)) return false;
    return !isKnownEvent(event) || eventSchema.safeParse(event).success;
  } catch {
    return false;
  }
}
