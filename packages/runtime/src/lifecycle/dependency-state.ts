/*
 * A process's view of a dependency, as values: it is up, it has been failing for less than the grace period, or it is away. A loss that
 * has been logged is followed by a line when the dependency is back; losses that come sooner than `holdOffMs` after a logged one, and end
 * before that time is over, are counted and not logged.
 */

export type DependencyPhase =
  | { readonly kind: "up" }
  | {
      readonly kind: "failing";
      readonly sinceMs: number;
      readonly because: string;
      readonly failures: number;
    }
  | {
      readonly kind: "away";
      readonly sinceMs: number;
      readonly because: string;
      readonly failures: number;
      readonly isTold: boolean;
    };

export interface DependencyState {
  readonly phase: DependencyPhase;
  /** When a loss was logged last. */
  readonly toldAtMs: number;
  /** Losses that were not logged since. */
  readonly flaps: number;
}

/** `checked`: nothing new is known; time has passed. */
export type DependencyInput =
  | { readonly kind: "failed"; readonly because: string }
  | { readonly kind: "worked" }
  | { readonly kind: "checked" };

export interface DependencyRules {
  /** For how long it has to fail until it is away. */
  readonly graceMs: number;
  /** From one logged loss to the next, at least. */
  readonly holdOffMs: number;
  /** True if another dependency's loss explains this one: it is not logged as long as that lasts. */
  readonly isExplained: boolean;
}

/** A line of the log. */
export type DependencyNews =
  | { readonly kind: "gone"; readonly because: string; readonly flaps: number }
  | { readonly kind: "changed"; readonly because: string }
  | { readonly kind: "back"; readonly awayMs: number; readonly failures: number };

export interface DependencyStep {
  readonly state: DependencyState;
  readonly news?: DependencyNews;
}

export const UP: DependencyState = { phase: { kind: "up" }, toldAtMs: Number.NEGATIVE_INFINITY, flaps: 0 };

export function nextDependency(
  state: DependencyState,
  input: DependencyInput,
  nowMs: number,
  rules: DependencyRules,
): DependencyStep {
  if (input.kind === "worked") return worked(state, nowMs, rules);
  if (input.kind === "checked") return escalate(state, nowMs, rules);
  const { phase } = state;
  const { because } = input;
  if (phase.kind === "up") {
    const failing = { kind: "failing", sinceMs: nowMs, because, failures: 1 } as const;
    return escalate({ ...state, phase: failing }, nowMs, rules);
  }
  const failed = { ...state, phase: { ...phase, because, failures: phase.failures + 1 } };
  if (!isSettled(phase)) return escalate(failed, nowMs, rules);
  return because === phase.because
    ? { state: failed }
    : { state: failed, news: { kind: "changed", because } };
}

/** When `checked` can change something; undefined where it can't. */
export function nextCheckMs(
  { phase, toldAtMs }: DependencyState,
  rules: DependencyRules,
): number | undefined {
  if (isSettled(phase)) return undefined;
  const awayAtMs = phase.sinceMs + rules.graceMs;
  return phase.kind === "failing" ? awayAtMs : toldAtMs + rules.holdOffMs;
}

function worked(state: DependencyState, nowMs: number, { holdOffMs }: DependencyRules): DependencyStep {
  const { phase, toldAtMs, flaps } = state;
  const up = { ...state, phase: UP.phase };
  if (phase.kind !== "away") return { state: up };
  if (!phase.isTold) return { state: { ...up, flaps: nowMs < toldAtMs + holdOffMs ? flaps + 1 : 0 } };
  return { state: up, news: { kind: "back", awayMs: nowMs - phase.sinceMs, failures: phase.failures } };
}

function escalate(state: DependencyState, nowMs: number, rules: DependencyRules): DependencyStep {
  const { phase, toldAtMs, flaps } = state;
  if (isSettled(phase) || nowMs < phase.sinceMs + rules.graceMs) return { state };
  const { sinceMs, because, failures } = phase;
  const away = { kind: "away", sinceMs, because, failures } as const;
  if (nowMs < toldAtMs + rules.holdOffMs || rules.isExplained)
    return { state: { ...state, phase: { ...away, isTold: false } } };
  const told = { phase: { ...away, isTold: true }, toldAtMs: nowMs, flaps: 0 };
  return { state: told, news: { kind: "gone", because, flaps } };
}

type SettledPhase =
  | Extract<DependencyPhase, { kind: "up" }>
  | (Extract<DependencyPhase, { kind: "away" }> & { readonly isTold: true });

/** True for a phase that time alone does not change. */
function isSettled(phase: DependencyPhase): phase is SettledPhase {
  return phase.kind === "up" || (phase.kind === "away" && phase.isTold);
}
