import { type KnownEvent, type Verdict, type Seq, plus, REQUEST_SEQ } from "@reprise/protocol";

/*
 * The part of one moderated log that verdicts allow readers to see: a pure state machine. `Visibility` holds its state and carries out its effects.
 *
 * A state has two parts that do not depend on each other's transitions. The first is the phase, from the log's records of moderation's absence:
 *
 *   phase     readers see                  fail_open is recorded    fail_closed is recorded    it ends, and the phase is `judging`, when
 *   judging   what the watermark allows    open (1)                 closed
 *   open      everything                   open (1)                 closed                     the record itself is settled
 *   closed    what the watermark allows,   open (1)                 closed                     more is judged than the record says was
 *             in `retract` no event
 *             after the record
 *
 *   (1) `judging` if the record is settled already. An answer that only a later version knows is taken as fail_closed.
 *
 *   If the judged events are forgotten, `closed` comes back; `open` does not.
 *
 * The second part is the judged events. A verdict counts for the events of the attempts that it has seen, and is settled once the cache has the
 * decision that it names. Its attempt decides its transition:
 *
 *   standing   the verdict's attempt                                 transition
 *   ahead      the cache does not have it yet                        kept in `ahead`: merged with one of the same attempt, else in its place
 *   lost       its number belongs to another attempt in the cache    ignored: the store has lost the events that it was about
 *   outdated   earlier than that of a verdict that has counted       ignored
 *   current    the same as that of the last verdict that counted     raises `judged`; settled, or merged into `waiting` for its decision
 *   newer      later, and in the cache                               what counted is forgotten; then as `current`
 *
 *   other inputs
 *   reached    the verdict in `waiting` is settled if its decision is reached, else ignored
 *   started    what counted is forgotten from this event on, unless a verdict that counted has seen the attempt; the verdict in `ahead` is
 *              taken like a new one
 *   ended      the first one stays
 *
 * Within one attempt verdicts only raise numbers, so they may come in any order and more than once.
 */

type StartedEvent = Extract<KnownEvent, { type: "generation.started" }>;
type UnavailableEvent = Extract<KnownEvent, { type: "moderation.unavailable" }>;

export type Phase = "judging" | "open" | "closed";
export type Standing = "ahead" | "lost" | "outdated" | "current" | "newer";

type Watermarks = Pick<Verdict, "judged" | "cleared" | "decided">;

export interface VisibilityState {
  /** The furthest `judged` of any verdict that counts. */
  readonly judged: Seq;
  /** The same of verdicts whose decisions are in the cache: only these show anything. */
  readonly settledJudged: Seq;
  readonly settledCleared: Seq;
  /** Verdicts that count, merged, until their last decision is in the cache. */
  readonly waiting: Watermarks | undefined;
  /** Verdict of an attempt that the cache does not have: the attempt will come, or the store has lost it. */
  readonly ahead: Verdict | undefined;
  /** The last attempt that a verdict that counts has seen. Infinite for one that names none: it has seen all. */
  readonly attempt: number;
  readonly nonce: string | undefined;
  /** The attempts in the cache. */
  readonly started: readonly StartedEvent[];
  readonly endSeq: Seq | undefined;
  readonly unavailable: UnavailableEvent | undefined;
}

export type VisibilityInput =
  | { readonly type: "verdict"; readonly verdict: Verdict; readonly lastSeq: Seq }
  /** The cache ends with this event now. */
  | { readonly type: "reached"; readonly lastSeq: Seq }
  | { readonly type: "ended"; readonly seq: Seq }
  | StartedEvent
  | UnavailableEvent;

/** For the measure of how far readers are ahead of moderation. */
export type VisibilityEffect =
  /** Everything up to it is judged, and settled. */
  | { readonly type: "judged"; readonly seq: Seq }
  /** Later events no longer count as judged. */
  | { readonly type: "forget"; readonly toSeq: Seq };

export interface Transition {
  readonly state: VisibilityState;
  readonly effects: readonly VisibilityEffect[];
}

export const INITIAL: VisibilityState = {
  judged: REQUEST_SEQ,
  settledJudged: REQUEST_SEQ,
  settledCleared: REQUEST_SEQ,
  waiting: undefined,
  ahead: undefined,
  attempt: 0,
  nonce: undefined,
  started: [],
  endSeq: undefined,
  unavailable: undefined,
};

const NO_EFFECTS: readonly VisibilityEffect[] = [];

export function next(state: VisibilityState, input: VisibilityInput): Transition {
  switch (input.type) {
    case "verdict":
      return takeVerdict(state, input.verdict, input.lastSeq);
    case "reached":
      if (!state.waiting || !isWaitOver(state, input.lastSeq)) return { state, effects: NO_EFFECTS };
      return settle({ ...state, waiting: undefined }, state.waiting);
    case "ended":
      return { state: { ...state, endSeq: state.endSeq ?? input.seq }, effects: NO_EFFECTS };
    case "generation.started":
      return start(state, input);
    case "moderation.unavailable":
      return { state: endOpenPhase({ ...state, unavailable: input }), effects: NO_EFFECTS };
  }
}

export function phaseOf({ unavailable, judged }: VisibilityState): Phase {
  if (!unavailable) return "judging";
  if (unavailable.answer === "fail_open") return "open";
  return judged <= unavailable.judged_seq ? "closed" : "judging";
}

/** True if the cache, which ends with this event, has the decision that a verdict waits for. */
export function isWaitOver({ waiting }: VisibilityState, lastSeq: Seq): boolean {
  return waiting !== undefined && waiting.decided <= lastSeq;
}

/**
 * A verdict that names no attempt has seen all. One that names no nonce is taken at its number: readers would wait for ever otherwise.
 */
export function standingOf(state: VisibilityState, { attempt, nonce }: Verdict): Standing {
  if ((attempt ?? 0) > (state.started.at(-1)?.attempt ?? 0)) return "ahead";
  const isLost = state.started.some(
    (started) => started.attempt === attempt && nonce !== undefined && started.nonce !== nonce,
  );
  if (isLost) return "lost";
  const seen = attempt ?? Number.POSITIVE_INFINITY;
  if (seen === state.attempt) return "current";
  return seen < state.attempt ? "outdated" : "newer";
}

function takeVerdict(state: VisibilityState, verdict: Verdict, lastSeq: Seq): Transition {
  const standing = standingOf(state, verdict);
  switch (standing) {
    case "ahead": {
      const { ahead } = state;
      const isSame = ahead?.attempt === verdict.attempt && ahead?.nonce === verdict.nonce;
      const kept = ahead && isSame ? { ...verdict, ...latest(verdict, ahead) } : verdict;
      return { state: { ...state, ahead: kept }, effects: NO_EFFECTS };
    }
    case "lost":
    case "outdated":
      return { state, effects: NO_EFFECTS };
    case "newer": {
      const forgotten = forget(state, REQUEST_SEQ);
      const { attempt = Number.POSITIVE_INFINITY, nonce } = verdict;
      return after(forgotten, raise({ ...forgotten.state, attempt, nonce }, verdict, lastSeq));
    }
    case "current": {
      const { nonce } = verdict;
      return raise(nonce === state.nonce ? state : { ...state, nonce }, verdict, lastSeq);
    }
  }
}

function raise(state: VisibilityState, verdict: Verdict, lastSeq: Seq): Transition {
  const seen = upToNextAttempt(state, verdict);
  const raised = { ...state, judged: Math.max(state.judged, seen.judged) };
  if (seen.decided <= lastSeq) return settle(raised, seen);
  // A wait for the last of several decisions is late at worst.
  const waiting = state.waiting ? latest(state.waiting, seen) : seen;
  return { state: { ...raised, waiting }, effects: NO_EFFECTS };
}

/** A verdict that is read late, or from a store that was not updated after a loss, does not count for an attempt that it has not seen. */
function upToNextAttempt({ started, attempt }: VisibilityState, verdict: Watermarks): Watermarks {
  const following = started.find((one) => one.attempt > attempt);
  if (!following || verdict.judged < following.seq) return verdict;
  const to = plus(following.seq, -1);
  return { judged: to, cleared: Math.min(verdict.cleared, to), decided: Math.min(verdict.decided, to) };
}

function settle(state: VisibilityState, { judged, cleared }: Watermarks): Transition {
  const settled = {
    ...state,
    settledJudged: Math.max(state.settledJudged, judged),
    settledCleared: Math.max(state.settledCleared, cleared),
  };
  return { state: endOpenPhase(settled), effects: [{ type: "judged", seq: judged }] };
}

/** Once the record is settled, the phase is over: what is forgotten later opens nothing again. */
function endOpenPhase(state: VisibilityState): VisibilityState {
  const { unavailable, settledJudged } = state;
  const isOver = unavailable?.answer === "fail_open" && settledJudged >= unavailable.seq;
  return isOver ? { ...state, unavailable: undefined } : state;
}

/** A verdict that does not know the new attempt, about places that are now the new attempt's, was about events that the store has lost. */
function start(state: VisibilityState, event: StartedEvent): Transition {
  const started = [...state.started, event];
  const isOther = state.nonce !== undefined && state.nonce !== event.nonce;
  const attempt = state.attempt === event.attempt && isOther ? state.attempt - 1 : state.attempt;
  const begun: Transition = { state: { ...state, started, attempt }, effects: NO_EFFECTS };
  const kept = attempt < event.attempt ? forget(begun.state, plus(event.seq, -1)) : begun;
  const { ahead } = state;
  if (!ahead) return kept;
  return after(kept, takeVerdict({ ...kept.state, ahead: undefined }, ahead, event.seq));
}

/** @param toSeq up to it what was said may still count */
function forget(state: VisibilityState, toSeq: Seq): Transition {
  const forgotten = {
    ...state,
    judged: Math.min(state.judged, toSeq),
    settledJudged: Math.min(state.settledJudged, toSeq),
    settledCleared: Math.min(state.settledCleared, toSeq),
    waiting: undefined,
  };
  return { state: forgotten, effects: [{ type: "forget", toSeq }] };
}

function after(first: Transition, then: Transition): Transition {
  return { state: then.state, effects: [...first.effects, ...then.effects] };
}

function latest(a: Watermarks, b: Watermarks): Watermarks {
  return {
    judged: Math.max(a.judged, b.judged),
    cleared: Math.max(a.cleared, b.cleared),
    decided: Math.max(a.decided, b.decided),
  };
}
