import {
  type EventDraft,
  isDelta,
  logprobsSize,
  MAX_LOGPROBS_SIZE,
  type TokenLogprobs,
  tokensOf,
} from "@reprise/protocol";
import { MAX_TEXT_BYTES, MAX_UNCOUNTED_LENGTH, splitDelta } from "./split-delta.ts";

/**
 * Drafts that wait for the append in flight. Neighbouring deltas of one kind become one: the slower the broker, the fewer and
 * larger the events, and a generation never falls behind its engine. No text becomes longer than `MAX_TEXT_BYTES`.
 */
export class AppendQueue {
  #drafts: EventDraft[] = [];
  /** Characters of text and of sealed reasoning that wait, and the size of what is told of their tokens. */
  #length = 0;
  /** Of the last draft's text, in UTF-8; undefined while nothing has needed it. */
  #lastBytes: number | undefined;

  get isEmpty(): boolean {
    return this.#drafts.length === 0;
  }

  get length(): number {
    return this.#length;
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

  /** Whether the texts of two deltas fit in one. They are counted where they may not, each character once. */
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

  clear(): void {
    this.#drafts = [];
    this.#length = 0;
  }
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
  const merged = { ...last, text: last.text + next.text, tokens: tokensOf(last) + tokensOf(next) };
  const [before, behind] = [logprobsOf(last), logprobsOf(next)];
  if (!before && !behind) return merged;
  if (logprobsSize(before) + logprobsSize(behind) > MAX_LOGPROBS_SIZE) return undefined;
  return { ...merged, logprobs: [...(before ?? []), ...(behind ?? [])] } as EventDraft;
}

/** Which of several texts of its type it goes on with. */
function partOf(draft: EventDraft): number {
  if ("output" in draft && typeof draft.output === "number") return draft.output;
  return "part" in draft ? (draft.part ?? 0) : 0;
}
