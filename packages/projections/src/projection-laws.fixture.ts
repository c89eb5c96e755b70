import { asUnixMs, type GenerationId } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { anyLog, asReadLate, type LogEvent } from "./any-log.fixture.ts";
import type { Frame, ProjectedRun, Projection } from "./projection.ts";

export const RUN: ProjectedRun = {
  generation: `gen_7_${"0a".repeat(13)}` as GenerationId,
  model: "sim",
  createdAtMs: asUnixMs(1_795_000_000_123),
};

export interface Draft {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const USAGE = { input_tokens: 3, output_tokens: 2, reasoning_tokens: 1 };
export const STARTED: Draft = { type: "generation.started", attempt: 1, worker: "w1", model: "sim" };

export const delta = (text: string): Draft => ({ type: "output.delta", text });
export const rewind = (to_seq: number): Draft => ({ type: "output.rewind", to_seq, reason: "worker_lost" });
export const completed = (finish_reason = "stop"): Draft => ({
  type: "generation.completed",
  finish_reason,
  usage: USAGE,
});

/** The events, numbered from 1. */
export function toLog(drafts: readonly Draft[]): LogEvent[] {
  return drafts.map((draft, i) => ({ ...draft, seq: i + 1 }) as unknown as LogEvent);
}

/** A log that begins with a start. */
export const logOf = (...drafts: readonly Draft[]): LogEvent[] => toLog([STARTED, ...drafts]);

/** Tests what every projection keeps to. @param isEnd tells if a frame is one that a stream may end with */
export function itKeepsTheLaws<State>(projection: Projection<State>, isEnd: IsEnd): void {
  it("gives the same frames after any cut", () => holdsAtAnyCut(projection));
  it("leaves the states that it continues from alone", () => leavesStatesAlone(projection));
  it("makes the same number of frames for an event after its text is withdrawn", () =>
    countsFramesWithoutTheirText(projection));
  it("ends with a terminal frame, and says nothing after it", () => endsWithItsTerminal(projection, isEnd));
}

type IsEnd = (frame: Frame, before: Frame | undefined) => boolean;

/** The frames of each event of a log. */
export function framesOf<State>(projection: Projection<State>, log: readonly LogEvent[]): Frame[][] {
  let state = projection.begin(RUN);
  return log.map((event) => {
    const { state: next, frames } = projection.project(state, event);
    state = next;
    return [...frames];
  });
}

/** For any log and any cut: the frames before the cut and those of a later fold after it are the whole, byte for byte. */
function holdsAtAnyCut<State>(projection: Projection<State>): void {
  fc.assert(
    fc.property(anyLog, fc.nat(), (log, cut) => {
      const whole = framesOf(projection, log).flat();
      const at = cut % (whole.length + 1);
      const again = framesOf(projection, log).flat();
      expect([...whole.slice(0, at), ...again.slice(at)]).toEqual(whole);
      for (const { data } of whole) expect(data).not.toMatch(/[\r\n\u0085\u2028\u2029]/);
    }),
  );
}

/** A second fold from a state that another fold has already continued from gives the same frames. */
function leavesStatesAlone<State>(projection: Projection<State>): void {
  fc.assert(
    fc.property(anyLog, (log) => {
      let state = projection.begin(RUN);
      for (const event of log) {
        const first = projection.project(state, event);
        const second = projection.project(state, event);
        expect(second.frames).toEqual(first.frames);
        state = second.state;
      }
    }),
  );
}

/** Each event has as many frames for a reader who comes after all withdrawals as for one who was there: positions stay. */
function countsFramesWithoutTheirText<State>(projection: Projection<State>): void {
  fc.assert(
    fc.property(anyLog, (log) => {
      const counts = (events: readonly LogEvent[]) =>
        framesOf(projection, events).map(({ length }) => length);
      expect(counts(asReadLate(log))).toEqual(counts(log));
    }),
  );
}

/** A projection has ended with its last frame, and not before. */
function endsWithItsTerminal<State>(projection: Projection<State>, isEnd: IsEnd): void {
  fc.assert(
    fc.property(anyLog, (log) => {
      let state = projection.begin(RUN);
      const frames: Frame[] = [];
      for (const event of log) {
        const wasEnded = projection.hasEnded(state);
        const told = projection.project(state, event);
        state = told.state;
        frames.push(...told.frames);
        expect(wasEnded ? told.frames : []).toEqual([]);
        const last = frames.at(-1);
        expect(projection.hasEnded(state)).toBe(last !== undefined && isEnd(last, frames.at(-2)));
      }
      expect(projection.hasEnded(state)).toBe(true);
    }),
  );
}
