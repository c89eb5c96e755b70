import {
  decodeEvent,
  type EffectiveModeration,
  type EffectivePolicy,
  hasText,
  isTerminal,
  type KnownEvent,
  type UnknownEvent,
  NAME_CHANNEL,
  textIn,
  textOf,
  type SeqRange,
  type Verdict,
  type Seq,
  plus,
  BEYOND_LOG,
} from "@reprise/protocol";
import { type ModerationLag, ModerationLead } from "./moderation-lead.ts";
import { SettledMark } from "./settled-mark.ts";
import { INITIAL, isWaitOver, next, phaseOf, type VisibilityInput } from "./visibility-state.ts";

/** A policy under which readers may have to wait for moderation. */
export type HoldingModeration = EffectiveModeration & { readonly mode: "gate" | "retract" };

/** Undefined where readers are shown everything at once: nothing is judged, or readers do not wait for it. */
export function holdingModeration(policy: EffectivePolicy | undefined): HoldingModeration | undefined {
  const moderation = policy?.moderation;
  return moderation && isHolding(moderation) ? moderation : undefined;
}

function isHolding(moderation: EffectiveModeration): moderation is HoldingModeration {
  return moderation.mode !== "observe";
}

/**
 * Decides how much of a moderated log readers may be shown. A gate shows cleared events only. Retract shows every event at once, with three exceptions,
 * each held until it is judged: text too far ahead of moderation; events after `moderation.unavailable` was recorded with `fail_closed`; and a terminal
 * event with the events after it, because a clean end promises that no event follows.
 *
 * The changes by verdicts and events are `next` of visibility-state.ts. An event that changes nothing there, as nearly all, makes no input for it.
 */
export class Visibility {
  /** Called whenever more is judged of a log whose text is shown before that. */
  onLag: ((lag: ModerationLag) => void) | undefined;
  /** Undefined for a gate. */
  readonly #lead: ModerationLead | undefined;
  readonly #mark: SettledMark | undefined;
  #state = INITIAL;

  /** @param widened a range with the withdrawn ranges that it touches */
  constructor(
    { mode, max_lead_characters: most = Number.POSITIVE_INFINITY }: HoldingModeration,
    widened: (range: SeqRange, channel: string) => SeqRange = (range) => range,
  ) {
    if (mode === "gate") return;
    this.#lead = new ModerationLead(most);
    this.#mark = new SettledMark(widened);
  }

  /** Every event up to it is judged, as far as this node knows. */
  get judged(): Seq {
    return this.#state.judged;
  }

  /** The decisions about every event up to this one are in the cache. */
  get settled(): Seq {
    return this.#state.settledJudged;
  }

  /** True if moderation is unavailable and the policy tells readers so. */
  get isUnavailable(): boolean {
    return phaseOf(this.#state) === "closed";
  }

  /** True if there are unjudged events, and readers have not been told that moderation is unavailable. */
  isUnjudged(lastSeq: Seq): boolean {
    return this.#state.judged < lastSeq && phaseOf(this.#state) === "judging";
  }

  /** The last event that readers may be sent. */
  shownSeq(lastSeq: Seq): Seq {
    const { settledCleared, settledJudged, endSeq, unavailable } = this.#state;
    const phase = phaseOf(this.#state);
    if (phase === "open") return lastSeq;
    if (!this.#lead) return Math.min(lastSeq, settledCleared);
    const heldFrom = Math.max(endSeq ?? BEYOND_LOG, plus(settledJudged, 1));
    const closedBehind = phase === "closed" && unavailable ? unavailable.seq : BEYOND_LOG;
    return this.#lead.shownSeq(Math.min(lastSeq, plus(heldFrom, -1), closedBehind));
  }

  /**
   * The last event that a reader may be sent who can't be told that text was withdrawn: of a gate the same, of retract what a gate would show.
   */
  settledSeq(lastSeq: Seq): Seq {
    if (!this.#mark || phaseOf(this.#state) === "open") return this.shownSeq(lastSeq);
    return Math.min(lastSeq, this.#mark.seq);
  }

  /** @param lastSeq the last event of the cache */
  accept(verdict: Verdict, lastSeq: Seq): void {
    this.#step({ type: "verdict", verdict, lastSeq });
    this.#updateMark(lastSeq);
  }

  /** Tells of an event that the cache has taken. `decode` parses it. */
  took(seq: Seq, type: string, decode: () => KnownEvent | UnknownEvent): void {
    if (isTerminal(type)) this.#step({ type: "ended", seq });
    else if (type === "generation.started" || type === "moderation.unavailable") {
      const event = decode();
      if (event.type === "generation.started" || event.type === "moderation.unavailable") this.#step(event);
    } else if (this.#mark && (type === "moderation.review" || type === "moderation.reviewed")) {
      const event = decode();
      if (event.type === "moderation.review" || event.type === "moderation.reviewed") this.#mark.took(event);
    }
  }

  /** The cache ends with this event now: acts upon what waited for decisions up to it. */
  reached(lastSeq: Seq, type: string, payload: Uint8Array): void {
    if (this.#lead) {
      const textLength = hasText(type) ? lengthOf(decodeEvent(payload)) : 0;
      this.#lead.took(lastSeq, textLength, this.onLag ? performance.now() : Number.NaN);
    }
    if (isWaitOver(this.#state, lastSeq)) this.#step({ type: "reached", lastSeq });
    this.#updateMark(lastSeq);
  }

  #updateMark(lastSeq: Seq): void {
    const { settledJudged: judged, settledCleared: cleared } = this.#state;
    this.#mark?.update(lastSeq, { judged, cleared });
  }

  #step(input: VisibilityInput): void {
    /** Up to where readers could see until now. */
    const shownSeq = this.shownSeq(BEYOND_LOG);
    const { state, effects } = next(this.#state, input);
    this.#state = state;
    for (const effect of effects) {
      if (effect.type === "forget") this.#lead?.forget(effect.toSeq);
      else {
        const lag = this.#lead?.judged(effect.seq, performance.now(), shownSeq);
        if (lag) this.onLag?.(lag);
      }
    }
  }
}

/** Length of all text in an event. */
function lengthOf(event: ReturnType<typeof decodeEvent>): number {
  return textOf(event).length + (textIn(event, NAME_CHANNEL)?.length ?? 0);
}
