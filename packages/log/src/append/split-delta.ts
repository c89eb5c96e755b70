import { type EventDraft, isDelta, type TokenLogprobs, tokensOf } from "@reprise/protocol";

/** The most UTF-8 that the text of a stored delta has: with its JSON it stays below 65,536 bytes, where line readers of clients give up (Go's scanner). */
export const MAX_TEXT_BYTES = 32_768;
/** A UTF-16 unit has three bytes of UTF-8 at most, so a text that is no longer than this needs no counting. */
export const MAX_UNCOUNTED_LENGTH = Math.floor(MAX_TEXT_BYTES / 3);

type Delta = Extract<EventDraft, { text: string }>;

/** The draft as it may be stored: itself, or a delta whose text is too long as several, each of which ends where a character does. */
export function splitDelta(draft: EventDraft): readonly EventDraft[] {
  if (!isDelta(draft) || draft.text.length <= MAX_UNCOUNTED_LENGTH) return [draft];
  const ends = toEnds(draft.text);
  return ends.length === 1 ? [draft] : toPieces(draft, ends);
}

/** Where each piece of a text ends, in UTF-16 units. */
function toEnds(text: string): number[] {
  const ends: number[] = [];
  let bytes = 0;
  for (let at = 0; at < text.length;) {
    const point = text.codePointAt(at) ?? 0;
    const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes + size > MAX_TEXT_BYTES) {
      ends.push(at);
      bytes = 0;
    }
    bytes += size;
    at += size === 4 ? 2 : 1;
  }
  return [...ends, text.length];
}

/** Tokens are shared by length, so that their sum is that of the whole; what it says of the input is said once. */
function toPieces(delta: Delta, ends: readonly number[]): EventDraft[] {
  const { text } = delta;
  const { input_tokens: _input, cached_input_tokens: _cached, logprobs, ...rest } = delta as FullDelta;
  const tokens = tokensOf(delta);
  const likely = logprobs && shareLogprobs(logprobs, ends);
  const tokensTo = (end: number) => Math.floor((tokens * end) / text.length);
  return ends.map((end, i) => {
    const begin = ends[i - 1] ?? 0;
    const own = likely?.[i] ?? [];
    return {
      ...(i === 0 ? withoutLogprobs(delta) : rest),
      text: text.slice(begin, end),
      tokens: tokensTo(end) - tokensTo(begin),
      ...(own.length > 0 && { logprobs: own }),
    } as EventDraft;
  });
}

type FullDelta = Extract<EventDraft, { type: "output.delta" }>;

function withoutLogprobs(delta: Delta): Delta {
  const { logprobs: _logprobs, ...rest } = delta as FullDelta;
  return rest;
}

/** Each goes with the piece in which its token begins; one whose token is not told has its share of the text. */
function shareLogprobs(logprobs: TokenLogprobs, ends: readonly number[]): TokenLogprobs[] {
  const shares: TokenLogprobs[] = ends.map(() => []);
  const length = ends.at(-1) ?? 0;
  let place = 0;
  let piece = 0;
  for (const one of logprobs) {
    while (piece < ends.length - 1 && place >= (ends[piece] ?? length)) piece++;
    shares[piece]?.push(one);
    place += one.token?.length ?? length / logprobs.length;
  }
  return shares;
}
