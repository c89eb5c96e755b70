import {
  type EventDraft,
  isDelta,
  logprobsSize,
  MAX_LOGPROBS_SIZE,
  type TokenLogprobs,
  tokensOf,
} from "@reprise/protocol";

/** The most UTF-8 that the text of a stored delta has: a frame of plain text then stays below 65,536 bytes, where line readers of clients give up (Go's scanner). */
const MAX_TEXT_BYTES = 32_768;
/** A UTF-16 unit has three bytes of UTF-8 at most, so a text that is no longer than this needs no counting. */
const MAX_UNCOUNTED_LENGTH = Math.floor(MAX_TEXT_BYTES / 3);

/**
 * Drafts that wait for the append in flight. Neighbouring deltas of one kind become one: the slower the broker, the fewer and larger the events,
 * so a generation always keeps up with its engine. No text becomes longer than `MAX_TEXT_BYTES`.
 */
export class AppendQueue {
  #drafts: EventDraft[] = [];
  /** Characters of text and of sealed reasoning that wait, and the size of what is told of their tokens. */
  #length = 0;
  /** Bytes of the last draft's text in UTF-8; undefined until they are needed. */
  #lastBytes: number | undefined;

  get isEmpty(): boolean {
    return this.#drafts.length === 0;
  }

  get length(): number {
    return this.#length;
  }

  /** Tokens of the only draft that waits, if further deltas may join it; else 0. */
  get openTokens(): number {
    const [first, second] = this.#drafts;
    return first && !second && isDelta(first) ? tokensOf(first) : 0;
  }

  push(draft: EventDraft): void {
    if (isDelta(draft) && draft.text.length > MAX_UNCOUNTED_LENGTH)
      for (const piece of splitDelta(draft)) this.#push(piece);
    else this.#push(draft);
  }

  #push(draft: EventDraft): void {
    const last = this.#drafts.at(-1);
    const merged = last && this.#fits(last, draft) ? merge(last, draft) : undefined;
    if (merged) this.#drafts[this.#drafts.length - 1] = merged;
    else {
      this.#drafts.push(draft);
      this.#lastBytes = undefined;
    }
    this.#length += lengthOf(draft);
  }

  /** True if the texts of two deltas fit in one. They are counted where they may not, each character once. */
  #fits(last: EventDraft, next: EventDraft): boolean {
    if (!isDelta(last) || !isDelta(next)) return false;
    if (last.text.length + next.text.length <= MAX_UNCOUNTED_LENGTH) return true;
    this.#lastBytes ??= Buffer.byteLength(last.text);
    const bytes = this.#lastBytes + Buffer.byteLength(next.text);
    if (bytes > MAX_TEXT_BYTES) return false;
    this.#lastBytes = bytes;
    return true;
  }

  shift(): EventDraft | undefined {
    const draft = this.#drafts.shift();
    if (draft) this.#length -= lengthOf(draft);
    return draft;
  }

  dropOutput(): void {
    const kept = this.#drafts.filter((draft) => !isOutput(draft));
    this.clear();
    for (const draft of kept) this.#push(draft);
  }

  clear(): void {
    this.#drafts = [];
    this.#length = 0;
  }
}

/** Returns true for what a model has said: not for the events of attempts, ends and moderation. */
export function isOutput({ type }: EventDraft): boolean {
  return !/^(?:generation|attempt|moderation)\./.test(type);
}

/** Adds up: that of a merged draft is the sum. What comes once, at the end of a turn, has limits of its own, and counts for nothing. */
function lengthOf(draft: EventDraft): number {
  if (isDelta(draft)) return draft.text.length + logprobsSize(logprobsOf(draft));
  return draft.type === "reasoning.sealed" ? draft.encrypted.length + (draft.id?.length ?? 0) : 0;
}

function logprobsOf(draft: EventDraft): TokenLogprobs | undefined {
  return draft.type === "output.delta" ? draft.logprobs : undefined;
}

function merge(last: EventDraft, next: EventDraft): EventDraft | undefined {
  if (!isDelta(last) || !isDelta(next) || last.type !== next.type) return undefined;
  if (partOf(last) !== partOf(next)) return undefined;
  const merged = {
    ...last,
    ...("consumed_bytes" in next && { consumed_bytes: next.consumed_bytes }),
    ...("consumed" in next && { consumed: next.consumed }),
    text: last.text + next.text,
    tokens: tokensOf(last) + tokensOf(next),
  };
  const [before, after] = [logprobsOf(last), logprobsOf(next)];
  if (!before && !after) return merged;
  if (logprobsSize(before) + logprobsSize(after) > MAX_LOGPROBS_SIZE) return undefined;
  return { ...merged, logprobs: [...(before ?? []), ...(after ?? [])] } as EventDraft;
}

/** Returns which of several texts of its type the draft continues. */
function partOf(draft: Delta): string {
  if (draft.type === "reasoning.summary.delta") return `${draft.part ?? 0}`;
  if (draft.type !== "output.delta") return "";
  const { output = 0, item, final } = draft;
  return item === undefined ? `${output}` : `${output} ${item} ${final}`;
}

type Delta = Extract<EventDraft, { text: string }>;

/** A delta as it may be stored: itself, or several where its text is too long, each of which ends where a character does. */
function splitDelta(delta: Delta): readonly EventDraft[] {
  const ends = toEnds(delta.text);
  return ends.length === 1 ? [delta] : toPieces(delta, ends);
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
  const {
    input_tokens: _input,
    cached_input_tokens: _cached,
    logprobs,
    consumed,
    consumed_bytes,
    ...rest
  } = delta as FullDelta;
  const last = {
    ...(consumed !== undefined && { consumed }),
    ...(consumed_bytes !== undefined && { consumed_bytes }),
  };
  const tokens = tokensOf(delta);
  const likely = logprobs && shareLogprobs(logprobs, ends);
  const tokensTo = (end: number) => Math.floor((tokens * end) / text.length);
  return ends.map((end, i) => {
    const begin = ends[i - 1] ?? 0;
    const own = likely?.[i] ?? [];
    return {
      ...(i === 0 ? withoutRest(delta) : rest),
      ...(i === ends.length - 1 && last),
      text: text.slice(begin, end),
      tokens: tokensTo(end) - tokensTo(begin),
      ...(own.length > 0 && { logprobs: own }),
    };
  });
}

type FullDelta = Extract<EventDraft, { type: "output.delta" }>;

/** Leaves out what is shared among pieces, or said with the last. */
function withoutRest(delta: Delta): Delta {
  const { logprobs: _logprobs, consumed: _consumed, consumed_bytes: _bytes, ...rest } = delta as FullDelta;
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
