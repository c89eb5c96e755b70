/*
 * What a fold needs of an `output.delta` or `reasoning.delta`, read from its bytes: nearly all events are deltas, and parsing each as JSON, with all its text, takes most of a fold's time.
 */

const encoder = new TextEncoder();
const OUTPUT = encoder.encode('"type":"output.delta","text":"');
const REASONING = encoder.encode('"type":"reasoning.delta","text":"');
const TOKENS = encoder.encode(',"tokens":');
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const END = 0x7d;
/** After `{"seq":` and its digits; a `seq` has 15 at most. */
const FIRST_COMMA = 24;

export type DeltaKind = "output" | "reasoning";

/** Which delta an event is, as this version writes one; undefined for any other, and for one that has to be parsed. */
export function peekDeltaKind(payload: Uint8Array): DeltaKind | undefined {
  const type = payload.indexOf(COMMA) + 1;
  if (type === 0 || type > FIRST_COMMA) return undefined;
  if (holdsAt(payload, type, OUTPUT)) return "output";
  return holdsAt(payload, type, REASONING) ? "reasoning" : undefined;
}

/** Returns the number of tokens of such a delta. Undefined if it has further fields, which need a parse of its JSON. */
export function peekTokens(payload: Uint8Array, kind: DeltaKind): number | undefined {
  const prefix = kind === "output" ? OUTPUT : REASONING;
  let at = endOfText(payload, payload.indexOf(COMMA) + 1 + prefix.length) + 1;
  if (at === 0) return undefined;
  if (payload[at] === END) return at === payload.length - 1 ? 1 : undefined;
  if (!holdsAt(payload, at, TOKENS)) return undefined;
  at += TOKENS.length;
  let tokens = 0;
  const first = at;
  for (; at < payload.length - 1; at++) {
    const digit = (payload[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    tokens = tokens * 10 + digit;
  }
  return at > first && payload[at] === END && Number.isSafeInteger(tokens) ? tokens : undefined;
}

/** Where the quote is that ends a JSON text; -1 where there is none. */
function endOfText(payload: Uint8Array, start: number): number {
  for (let quote = payload.indexOf(QUOTE, start); quote !== -1; quote = payload.indexOf(QUOTE, quote + 1)) {
    let escapes = 0;
    while (payload[quote - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return quote;
  }
  return -1;
}

function holdsAt(payload: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let i = 0; i < expected.length; i++) if (payload[at + i] !== expected[i]) return false;
  return true;
}
