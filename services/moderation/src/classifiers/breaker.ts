/*
 * A circuit breaker as values: what has failed `failuresToOpen` times running is left alone for `openMs`, then asked once. If that
 * trial fails it is left alone for twice as long as before, up to `maxOpenMs`. Each admitted call is settled with its outcome; outcomes
 * of calls from before it opened change nothing any more.
 */

export interface BreakerOptions {
  readonly failuresToOpen: number;
  readonly openMs: number;
  readonly maxOpenMs: number;
}

export type BreakerState =
  | { readonly phase: "closed"; readonly failures: number }
  | { readonly phase: "open"; readonly untilMs: number; readonly openMs: number }
  /** A trial is under way. */
  | { readonly phase: "half_open"; readonly openMs: number };

/** `refused`: do not ask. */
export type Admission = "admitted" | "trial" | "refused";

/** `abandoned`: the caller has aborted, which says nothing about the classifier. */
export type Settlement = "success" | "failure" | "abandoned";

export const CLOSED: BreakerState = { phase: "closed", failures: 0 };

export function admit(
  state: BreakerState,
  nowMs: number,
): { readonly state: BreakerState; readonly admission: Admission } {
  switch (state.phase) {
    case "closed":
      return { state, admission: "admitted" };
    case "half_open":
      return { state, admission: "refused" };
    case "open":
      if (nowMs < state.untilMs) return { state, admission: "refused" };
      return { state: { phase: "half_open", openMs: state.openMs }, admission: "trial" };
  }
}

export interface Settled {
  readonly admission: Exclude<Admission, "refused">;
  readonly settlement: Settlement;
  readonly nowMs: number;
}

export function settle(
  state: BreakerState,
  { admission, settlement, nowMs }: Settled,
  { failuresToOpen, openMs, maxOpenMs }: BreakerOptions,
): BreakerState {
  if (admission === "trial" && state.phase === "half_open") {
    if (settlement === "success") return CLOSED;
    // The next one is a trial, at once.
    if (settlement === "abandoned") return { phase: "open", untilMs: nowMs, openMs: state.openMs };
    const nextMs = Math.min(state.openMs * 2, maxOpenMs);
    return { phase: "open", untilMs: nowMs + nextMs, openMs: nextMs };
  }
  if (state.phase !== "closed" || settlement === "abandoned") return state;
  if (settlement === "success") return CLOSED;
  const failures = state.failures + 1;
  if (failures < failuresToOpen) return { phase: "closed", failures };
  return { phase: "open", untilMs: nowMs + openMs, openMs };
}
