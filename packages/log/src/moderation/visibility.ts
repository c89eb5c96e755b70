import {
  decodeEvent,
  type EffectiveModeration,
  type EffectivePolicy,
  hasText,
  isTerminal,
  type KnownEvent,
  NAME_CHANNEL,
  textIn,
  textOf,
  type Verdict,
} from "@reprise/protocol";
import { type ModerationLag, ModerationLead } from "./moderation-lead.ts";

type StartedEvent = Extract<KnownEvent, { type: "generation.started" }>;
type UnavailableEvent = Extract<KnownEvent, { type: "moderation.unavailable" }>;

/** A policy under which readers may have to wait for moderation. */
export type HoldingModeration = EffectiveModeration & { readonly mode: "gate" | "retract" };

/** Undefined where readers are shown everything at once: nothing is judged, or readers do not wait for it. */
export function holdingModeration(policy: EffectivePolicy | undefined): HoldingModeration | undefined {
  const moderation = policy?.moderation;
  return moderation && moderation.mode !== "observe" ? (moderation as HoldingModeration) : undefined;
}

/**
 * How much of a moderated log readers may be shown. A gate shows what is cleared. Retract shows everything at once but what is too far
 * ahead of moderation, what comes after `moderation.unavailable` was recorded with `fail_closed`, and a terminal event and what follows
 * it, each until it is judged: a clean end promises that nothing follows. Verdicts only ever grow, may come in any order, and count
 * once the cache has the decisions that go with them. Only a new attempt, which a verdict does not know, may
 * have taken the place of the events that it was about: the store had lost them.
 */
export class Visibility {
  /** Called whenever more is judged of a log whose text is shown before that. */
  onLag: ((lag: ModerationLag) => void) | undefined;
  /** Undefined for a gate. */
  readonly #lead: ModerationLead | undefined;
  /** The furthest `judged` of any verdict. */
  #judged = 0;
  /** What counts: of verdicts whose decisions are in the cache. */
  #settledJudged = 0;
  #settledCleared = 0;
  /** What waits for a decision. Waiting for the last of several is late at worst. */
  #waiting: Verdict | undefined;
  /** The attempt that the newest verdict has seen: earlier verdicts no longer count. */
  #attempt = 0;
  #nonce: string | undefined;
  /** Of an attempt that the cache does not have: it will come, or is one that the store has lost. */
  #ahead: Verdict | undefined;
  /** The attempts of the cache. */
  readonly #begun: StartedEvent[] = [];
  #endSeq: number | undefined;
  #unavailable: UnavailableEvent | undefined;

  constructor({ mode, max_lead_characters: most = Number.POSITIVE_INFINITY }: HoldingModeration) {
    this.#lead = mode === "gate" ? undefined : new ModerationLead(most);
  }

  /** Every event up to it is judged, as far as this node knows. */
  get judged(): number {
    return this.#judged;
  }

  /** What was decided about every event up to it is in the cache. */
  get settled(): number {
    return this.#settledJudged;
  }

  /** @param lastSeq the last event of the cache */
  accept(said: Verdict, lastSeq: number): void {
    if ((said.attempt ?? 0) > (this.#begun.at(-1)?.attempt ?? 0)) {
      const isSame = this.#ahead?.attempt === said.attempt && this.#ahead?.nonce === said.nonce;
      this.#ahead = isSame ? { ...said, ...latest(said, this.#ahead!) } : said;
      return;
    }
    const attempt = this.#attemptSeenBy(said);
    if (attempt === undefined || attempt < this.#attempt) return;
    const shownSeq = this.shownSeq(Number.POSITIVE_INFINITY);
    const verdict = this.#upToNextAttempt(said, attempt);
    if (attempt > this.#attempt) this.#forget(0);
    this.#attempt = attempt;
    this.#nonce = said.nonce;
    this.#judged = Math.max(this.#judged, verdict.judged);
    if (verdict.decided <= lastSeq) this.#settle(verdict, shownSeq);
    else this.#waiting = this.#waiting ? latest(this.#waiting, verdict) : verdict;
  }

  /** Tells of an event that the cache has taken. `decode` parses it. */
  took(seq: number, type: string, decode: () => KnownEvent): void {
    if (isTerminal(type)) this.#endSeq ??= seq;
    else if (type === "moderation.unavailable")
      this.#unavailable = this.#stillSo(decode() as UnavailableEvent);
    else if (type === "generation.started") this.#began(decode() as StartedEvent);
  }

  /**
   * The last attempt that a verdict is about; undefined where the store has lost that attempt and another one has its number: then it is
   * unknown which events the verdict is about. A verdict without a nonce is taken at its number, else readers would wait for ever.
   */
  #attemptSeenBy({ attempt = Number.POSITIVE_INFINITY, nonce }: Verdict): number | undefined {
    const isOther = (started: StartedEvent) => nonce !== undefined && started.nonce !== nonce;
    const isOfLost = this.#begun.some((started) => started.attempt === attempt && isOther(started));
    return isOfLost ? undefined : attempt;
  }

  /** A verdict that is read late, or from a store that was not updated after a loss, does not count for an attempt that it has not seen. */
  #upToNextAttempt(verdict: Verdict, attempt: number): Verdict {
    const next = this.#begun.find((started) => started.attempt > attempt);
    if (!next || verdict.judged < next.seq) return verdict;
    const to = next.seq - 1;
    return { judged: to, cleared: Math.min(verdict.cleared, to), decided: Math.min(verdict.decided, to) };
  }

  /** A verdict that does not know the new attempt, about places that are now the new attempt's, was about events that the store has lost. */
  #began(started: StartedEvent): void {
    const { attempt, nonce, seq } = started;
    this.#begun.push(started);
    const isOther = this.#nonce !== undefined && this.#nonce !== nonce;
    if (this.#attempt === attempt && isOther) this.#attempt--;
    if (this.#attempt < attempt) this.#forget(seq - 1);
    const ahead = this.#ahead;
    if (!ahead || ahead.attempt! > attempt) return;
    this.#ahead = undefined;
    this.accept(ahead, seq);
  }

  /** @param to what may still count as said */
  #forget(to: number): void {
    this.#lead?.forget(to);
    this.#judged = Math.min(this.#judged, to);
    this.#settledJudged = Math.min(this.#settledJudged, to);
    this.#settledCleared = Math.min(this.#settledCleared, to);
    this.#waiting = undefined;
  }

  /** The cache ends with this event now: acts upon what waited for decisions up to it. */
  reached(lastSeq: number, type: string, payload: Uint8Array): void {
    if (this.#lead) {
      const textLength = hasText(type) ? lengthOf(decodeEvent(payload)) : 0;
      this.#lead.took(lastSeq, textLength, this.onLag ? performance.now() : Number.NaN);
    }
    if (!this.#waiting || this.#waiting.decided > lastSeq) return;
    this.#settle(this.#waiting, this.shownSeq(Number.POSITIVE_INFINITY));
    this.#waiting = undefined;
  }

  /** The last event that readers may be sent. */
  shownSeq(lastSeq: number): number {
    if (this.#isOpen) return lastSeq;
    if (!this.#lead) return Math.min(lastSeq, this.#settledCleared);
    const heldFrom = Math.max(this.#endSeq ?? Number.POSITIVE_INFINITY, this.#settledJudged + 1);
    const closedBehind = this.isUnavailable ? this.#unavailable!.seq : Number.POSITIVE_INFINITY;
    return this.#lead.shownSeq(Math.min(lastSeq, heldFrom - 1, closedBehind));
  }

  /** Whether moderation is unavailable and the policy tells readers so. A policy value of a later version opens nothing. */
  get isUnavailable(): boolean {
    const said = this.#unavailable;
    return said !== undefined && said.answer !== "fail_open" && this.#judged <= said.judged_seq;
  }

  /** Whether there are unjudged events, and readers have not been told that moderation is unavailable. */
  isUnjudged(lastSeq: number): boolean {
    return this.#judged < lastSeq && !this.#isOpen && !this.isUnavailable;
  }

  /** From the event that records it on, until that event itself is judged, readers are shown unjudged events. */
  get #isOpen(): boolean {
    return this.#unavailable?.answer === "fail_open";
  }

  /** Once that event is judged, it is over: what is forgotten later opens nothing again. */
  #stillSo(said: UnavailableEvent | undefined): UnavailableEvent | undefined {
    return said?.answer === "fail_open" && this.#settledJudged >= said.seq ? undefined : said;
  }

  /** @param shownSeq up to where readers could see by now */
  #settle({ judged, cleared }: Verdict, shownSeq: number): void {
    this.#settledJudged = Math.max(this.#settledJudged, judged);
    this.#settledCleared = Math.max(this.#settledCleared, cleared);
    const lag = this.#lead?.judged(judged, performance.now(), shownSeq);
    if (lag) this.onLag?.(lag);
    this.#unavailable = this.#stillSo(this.#unavailable);
  }
}

/** Of all that an event says. */
function lengthOf(event: ReturnType<typeof decodeEvent>): number {
  return textOf(event).length + (textIn(event, NAME_CHANNEL)?.length ?? 0);
}

function latest(a: Verdict, b: Verdict): Verdict {
  return {
    judged: Math.max(a.judged, b.judged),
    cleared: Math.max(a.cleared, b.cleared),
    decided: Math.max(a.decided, b.decided),
  };
}
