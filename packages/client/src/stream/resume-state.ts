import { isTerminal, RepriseError } from "@reprise/protocol/wire";
import type { StreamEvent } from "../transcript/stream-event.ts";
import { type FailureRun, planRetry, type RetryDelay, type RetryPolicy } from "../retry/retry-policy.ts";

/*
 * The reader's reaction to everything that can happen to it, without I/O. A stream is a chain of connections; each is opened
 * with the cursor of the last event that was handed out, and ends in `broken`, `closed` or `nothing_left`, or by our own hand.
 *
 * Invariant, for all inputs: the delivered events are a gapless, repetition-free run of the log, and `cursor` is the
 * position right after the last of them.
 */

export interface ResumeState {
  /** Cursor for the next connection. Undefined: from the start of the log. */
  readonly cursor: string | undefined;
  /** The last event handed out. Undefined after a cursor that the app brought along: only the server knows its seq. */
  readonly lastSeq: number | undefined;
  /** Those in a row since the last progress or wake-up. */
  readonly failures: FailureRun | undefined;
  /** True if the terminal event was handed out, or lies before the cursor. Withdrawals by moderation may follow it, up to the response's clean end. */
  readonly hasEnded: boolean;
  /** True if the last connection was dropped for a hole, and no event has come since. */
  readonly sawHole: boolean;
  /** When the present connection's headers came, in milliseconds. */
  readonly openedAtMs: number | undefined;
  /** The `retry:` that was read last. */
  readonly floorMs: number;
  /** Number of new connections requested after the first. */
  readonly reconnects: number;
}

export type ResumeInput =
  /** The headers of a stream are there. */
  | { readonly type: "opened" }
  /** Bytes came. */
  | { readonly type: "alive" }
  | { readonly type: "retry"; readonly delayMs: number }
  | { readonly type: "event"; readonly cursor: string; readonly event: StreamEvent }
  /** 204: the generation has ended and the cursor is that of its last event. */
  | { readonly type: "nothing_left" }
  /** The response has ended in order, as it does when the generation has ended and all of the log was sent. */
  | { readonly type: "closed" }
  /** The connection failed, went silent, or said what is wrong. */
  | { readonly type: "broken"; readonly error: RepriseError }
  /** A fresh token is there: the next connection has it. */
  | { readonly type: "renewed" }
  /** The stream had ended, and what was decided since is asked for. */
  | { readonly type: "reopened" }
  /** The device or its network came back while a reconnect was waited for. */
  | { readonly type: "woken" };

/** `reconnect`, `end` and `fail` close the present connection; the latter two are final. */
export type ResumeEffect =
  | { readonly type: "deliver"; readonly event: StreamEvent }
  | { readonly type: "reconnect"; readonly delay: RetryDelay }
  | { readonly type: "end" }
  | { readonly type: "fail"; readonly error: RepriseError };

export interface ResumeStep {
  readonly state: ResumeState;
  /** The effect to run; undefined: continue reading. */
  readonly effect?: ResumeEffect;
}

export interface ResumeContext {
  readonly nowMs: number;
  /** At least 0, less than 1. */
  readonly random: number;
  readonly policy: RetryPolicy;
}

/**
 * A connection that still brings bytes at this age is progress, though it brings no event: a generation may be queued for
 * long, and proxies limit how long a connection lasts. Two heartbeats' time, so that no server passes for alive by its first
 * bytes alone.
 */
const STABLE_AFTER_MS = 30_000;

const AT_ONCE: RetryDelay = { serverMs: 0, backoffMs: 0, wakeMs: 0 };

const CLOSED_EARLY = "The stream ended before its generation did.";

export function startResume(after?: string): ResumeState {
  return {
    cursor: after,
    lastSeq: after === undefined ? 0 : undefined,
    failures: undefined,
    hasEnded: false,
    sawHole: false,
    openedAtMs: undefined,
    floorMs: 0,
    reconnects: 0,
  };
}

export function nextResume(state: ResumeState, input: ResumeInput, context: ResumeContext): ResumeStep {
  switch (input.type) {
    case "opened":
      return { state: { ...state, openedAtMs: context.nowMs } };
    case "alive": {
      const isStable = context.nowMs - (state.openedAtMs ?? context.nowMs) >= STABLE_AFTER_MS;
      return { state: isStable ? { ...state, failures: undefined } : state };
    }
    case "retry":
      return { state: { ...state, floorMs: input.delayMs } };
    case "event":
      return takeEvent(state, input, context);
    case "nothing_left":
      if (state.cursor !== undefined) return { state: { ...state, hasEnded: true }, effect: { type: "end" } };
      return fail(state, "The server has nothing left for a reader that has read nothing.");
    case "closed":
      if (state.hasEnded) return { state, effect: { type: "end" } };
      return recover(state, new RepriseError("connection_lost", CLOSED_EARLY), context);
    case "broken":
      return recover(state, input.error, context);
    case "renewed":
    case "reopened":
      return {
        state: reopened(state),
        ...(input.type === "renewed" && { effect: { type: "reconnect", delay: AT_ONCE } }),
      };
    case "woken":
      return { state: { ...state, failures: undefined } };
  }
}

function takeEvent(
  state: ResumeState,
  { cursor, event }: Extract<ResumeInput, { type: "event" }>,
  context: ResumeContext,
): ResumeStep {
  const last = state.lastSeq ?? event.seq - 1;
  if (event.seq <= last || event.seq < 1) return { state };
  if (event.seq > last + 1) {
    const hole = `seq ${event.seq} came after ${last}.`;
    if (state.sawHole) return fail(state, hole);
    return recover({ ...state, sawHole: true }, new RepriseError("connection_lost", hole), context);
  }
  const hasEnded = state.hasEnded || isTerminal(event.type);
  return {
    state: { ...state, cursor, lastSeq: event.seq, failures: undefined, sawHole: false, hasEnded },
    effect: { type: "deliver", event },
  };
}

/** After the terminal event one try has to do: what the app waits for is there. */
function recover(
  state: ResumeState,
  error: RepriseError,
  { nowMs, policy, random }: ResumeContext,
): ResumeStep {
  const plan = planRetry(error, state.failures, { policy, nowMs, floorMs: state.floorMs, random });
  const isOver = plan.type === "fail";
  if (state.hasEnded && (isOver || plan.failures.count > 1)) return { state, effect: { type: "end" } };
  return isOver ? { state, effect: plan } : { state: reopened(state, plan.failures), effect: plan };
}

function reopened(state: ResumeState, failures?: FailureRun): ResumeState {
  return { ...state, failures, openedAtMs: undefined, reconnects: state.reconnects + 1 };
}

function fail(state: ResumeState, message: string): ResumeStep {
  return { state, effect: { type: "fail", error: new RepriseError("protocol_violation", message) } };
}
