import { asUnixMs, type GenerationId } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect } from "vitest";
import { anyLog, asReadLate, type LogEvent } from "./any-log.fixture.ts";
import type { Frame, ProjectedRun, Projection } from "./projection.ts";

/* What every projection keeps to. */

export const RUN: ProjectedRun = {
  generation: `gen_7_${"0a".repeat(13)}` as GenerationId,
  model: "sim",
  createdAtMs: asUnixMs(1_795_000_000_123),
};

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
export function holdsAtAnyCut<State>(projection: Projection<State>): void {
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
export function leavesStatesAlone<State>(projection: Projection<State>): void {
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
export function countsFramesWithoutTheirText<State>(projection: Projection<State>): void {
  fc.assert(
    fc.property(anyLog, (log) => {
      const counts = (events: readonly LogEvent[]) =>
        framesOf(projection, events).map(({ length }) => length);
      expect(counts(asReadLate(log))).toEqual(counts(log));
    }),
  );
}

/**
 * A projection has ended with its last frame, and not before. @param isEnd whether a frame is one that a stream may end with
 */
export function endsWithItsTerminal<State>(
  projection: Projection<State>,
  isEnd: (frame: Frame, before: Frame | undefined) => boolean,
): void {
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
