/*
 * A worker's view of the servers of one model, as values: how many of its requests each has, and how the last ones went. A server that
 * fails again and again is ejected for a time that doubles. After it a probe lets it in again on trial: it gets one request, and is in
 * or out by how that ends. Never more than half of the servers are out, so a fault that all of them share takes none of their capacity.
 */

export interface ReplicaRules {
  /** Failures in a row. */
  readonly ejectAfter: number;
  /** The first time. */
  readonly ejectMs: number;
}

export type Standing =
  | { readonly kind: "in" }
  /** May have one request at a time. */
  | { readonly kind: "trial" }
  | { readonly kind: "out"; readonly untilMs: number; readonly because: string };

export interface ReplicaState {
  readonly standing: Standing;
  readonly inFlight: number;
  /** Failures of requests and probes since the last answer to a request. */
  readonly failures: number;
  /** Those of them that are of probes, without an answer to a probe in between. */
  readonly failedProbes: number;
  /** The last outcomes, one bit each, the latest the lowest: 1 for what went wrong. */
  readonly history: number;
  /** The number of outcomes in `history`. */
  readonly outcomes: number;
  /** From a request to the first bytes of its answer: an average that follows the last ones. 0: not known. */
  readonly firstBytesMs: number;
  readonly measuredAtMs: number;
  /** It has refused a request for want of room. */
  readonly busyUntilMs: number;
  /** Since it last was in for long. */
  readonly ejections: number;
  /** When it was let in the last time. */
  readonly inSinceMs: number;
}

/** `left`: the request was cancelled or is at fault itself. `refused`: it does not know the key or the model. */
export type ReplicaOutcome =
  | { readonly kind: "answered" | "left" }
  | { readonly kind: "busy"; readonly forMs: number }
  | { readonly kind: "refused" | "failed"; readonly because: string };

export type ReplicaEvent =
  | { readonly kind: "asked"; readonly replica: number }
  | { readonly kind: "began"; readonly replica: number; readonly waitedMs: number }
  | { readonly kind: "ended"; readonly replica: number; readonly outcome: ReplicaOutcome }
  /** `because`: why the probe has failed; absent where it was answered. */
  | { readonly kind: "probed"; readonly replica: number; readonly because?: string | undefined };

export type ReplicaStates = readonly ReplicaState[];

export const LONGEST_EJECTION_MS = 300_000;
/** Outcomes that are compared with the other servers'. */
const COMPARED = 20;
/** A server is at fault only with at least this many failures, and with a share of failures this many times that of the others. */
const LEAST_WRONG = 5;
const TIMES_WORSE = 5;
/** The weight of a new measurement in the average. */
const WEIGHT = 0.3;

export const NEW_REPLICA: ReplicaState = {
  standing: { kind: "in" },
  inFlight: 0,
  failures: 0,
  failedProbes: 0,
  history: 0,
  outcomes: 0,
  firstBytesMs: 0,
  measuredAtMs: Number.NEGATIVE_INFINITY,
  busyUntilMs: Number.NEGATIVE_INFINITY,
  ejections: 0,
  inSinceMs: Number.NEGATIVE_INFINITY,
};

export function nextReplicas(
  states: ReplicaStates,
  event: ReplicaEvent,
  nowMs: number,
  rules: ReplicaRules,
): ReplicaStates {
  const { replica } = event;
  return judge(states.with(replica, next(states[replica]!, event, nowMs)), event, nowMs, rules);
}

function next(state: ReplicaState, event: ReplicaEvent, nowMs: number): ReplicaState {
  switch (event.kind) {
    case "asked":
      return { ...state, inFlight: state.inFlight + 1 };
    case "began":
      return measured(state, event.waitedMs, nowMs);
    case "ended":
      return ended({ ...state, inFlight: state.inFlight - 1 }, event.outcome, nowMs);
    case "probed":
      return event.because === undefined
        ? answeredProbe(state, nowMs)
        : { ...state, failures: state.failures + 1, failedProbes: state.failedProbes + 1 };
  }
}

function measured(state: ReplicaState, waitedMs: number, nowMs: number): ReplicaState {
  const { firstBytesMs: known } = state;
  const firstBytesMs = known === 0 ? waitedMs : known + WEIGHT * (waitedMs - known);
  return { ...state, firstBytesMs, measuredAtMs: nowMs };
}

function ended(state: ReplicaState, outcome: ReplicaOutcome, nowMs: number): ReplicaState {
  switch (outcome.kind) {
    case "left":
      return state;
    case "busy":
      return { ...state, busyUntilMs: nowMs + outcome.forMs };
    case "answered":
      return letIn({ ...remembered(state, 0), failures: 0, failedProbes: 0 }, nowMs);
    case "refused":
      return remembered(state, 1);
    case "failed":
      return { ...remembered(state, 1), failures: state.failures + 1 };
  }
}

/** While a server is out, an answer to a request of before proves nothing of now. One that comes while it is on trial is not told from the trial's own. */
function letIn(state: ReplicaState, nowMs: number): ReplicaState {
  return state.standing.kind === "trial" ? { ...state, standing: { kind: "in" }, inSinceMs: nowMs } : state;
}

function remembered(state: ReplicaState, bit: 0 | 1): ReplicaState {
  const history = ((state.history << 1) | bit) & ((1 << COMPARED) - 1);
  return { ...state, history, outcomes: Math.min(state.outcomes + 1, COMPARED) };
}

function answeredProbe(state: ReplicaState, nowMs: number): ReplicaState {
  const { standing } = state;
  // A server that answers probes may fail at requests all the same.
  if (standing.kind !== "out")
    return { ...state, failures: state.failures - state.failedProbes, failedProbes: 0 };
  if (nowMs < standing.untilMs) return state;
  const { busyUntilMs } = NEW_REPLICA;
  return {
    ...state,
    standing: { kind: "trial" },
    failures: 0,
    failedProbes: 0,
    history: 0,
    outcomes: 0,
    busyUntilMs,
  };
}

/** Ejects the server that the event is of, where it is to be and may be. */
function judge(
  states: ReplicaStates,
  event: ReplicaEvent,
  nowMs: number,
  { ejectAfter, ejectMs }: ReplicaRules,
): ReplicaStates {
  const because = reasonIn(event);
  const state = states[event.replica]!;
  if (because === undefined || state.standing.kind === "out") return states;
  const isOnTrial = state.standing.kind === "trial";
  if (!isOnTrial && state.failures < ejectAfter && !isOutlier(states, event.replica)) return states;
  if (2 * (states.filter(isOut).length + 1) > states.length) return states;
  const isForgotten = !isOnTrial && nowMs - state.inSinceMs > LONGEST_EJECTION_MS;
  const ejections = isForgotten ? 0 : state.ejections;
  const forMs = Math.min(ejectMs * 2 ** ejections, LONGEST_EJECTION_MS);
  const standing: Standing = { kind: "out", untilMs: nowMs + forMs, because };
  return states.with(event.replica, { ...state, standing, ejections: ejections + 1 });
}

function reasonIn(event: ReplicaEvent): string | undefined {
  if (event.kind === "probed") return event.because;
  return event.kind === "ended" && "because" in event.outcome ? event.outcome.because : undefined;
}

/** True if the server's recent requests failed far more often than those of the other servers, so that the server is at fault and not the requests. */
function isOutlier(states: ReplicaStates, replica: number): boolean {
  const { history, outcomes } = states[replica]!;
  const wrong = countBits(history);
  if (outcomes < COMPARED || wrong < LEAST_WRONG) return false;
  const others = states.filter((_, i) => i !== replica);
  const sum = (count: (state: ReplicaState) => number) => others.reduce((all, one) => all + count(one), 0);
  const othersWrong = sum((one) => countBits(one.history));
  const othersOutcomes = sum((one) => one.outcomes);
  return othersOutcomes > 0 && wrong / outcomes >= (TIMES_WORSE * othersWrong) / othersOutcomes;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

export function isOut({ standing }: ReplicaState): boolean {
  return standing.kind === "out";
}
