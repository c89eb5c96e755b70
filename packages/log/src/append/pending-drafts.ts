import { type EventDraft, isDelta, tokensOf } from "@reprise/protocol";

/** A merged delta is cut at this many UTF-16 code units, far below the largest event. */
const MAX_MERGED_LENGTH = 65_536;

/**
 * Drafts that wait for the append in flight. Neighbouring deltas of one kind become one: the slower the broker, the fewer and
 * larger the events, and a generation never falls behind its engine.
 */
export class AppendQueue {
  #drafts: EventDraft[] = [];
  /** Characters of text that wait. */
  #length = 0;

  get isEmpty(): boolean {
    return this.#drafts.length === 0;
  }

  get length(): number {
    return this.#length;
  }

  push(draft: EventDraft): void {
    const last = this.#drafts.at(-1);
    const merged = last && merge(last, draft);
    if (merged) this.#drafts[this.#drafts.length - 1] = merged;
    else this.#drafts.push(draft);
    if (isDelta(draft)) this.#length += draft.text.length;
  }

  shift(): EventDraft | undefined {
    const draft = this.#drafts.shift();
    if (draft && isDelta(draft)) this.#length -= draft.text.length;
    return draft;
  }

  clear(): void {
    this.#drafts = [];
    this.#length = 0;
  }
}

function merge(last: EventDraft, next: EventDraft): EventDraft | undefined {
  if (!isDelta(last) || !isDelta(next) || last.type !== next.type) return undefined;
  if (partOf(last) !== partOf(next)) return undefined;
  if (last.text.length + next.text.length > MAX_MERGED_LENGTH) return undefined;
  const text = last.text + next.text;
  return last.type === "reasoning.summary.delta"
    ? { ...last, text }
    : { ...last, text, tokens: tokensOf(last) + tokensOf(next) };
}

/** Which of several texts of its type it goes on with. */
function partOf(draft: EventDraft): number {
  if ("output" in draft && typeof draft.output === "number") return draft.output;
  return "part" in draft ? (draft.part ?? 0) : 0;
}
