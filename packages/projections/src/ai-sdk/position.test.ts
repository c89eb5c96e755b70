import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyLog } from "../any-log.fixture.ts";
import { framesOf, RUN } from "../projection-laws.fixture.ts";
import { parseStartIndex, tailIndexOf, toFirstFrame } from "./position.ts";
import { createUiStream } from "./project.ts";

describe("startIndex", () => {
  it("is a whole number, and 0 where it is absent", () => {
    expect([undefined, "0", "12", "-3"].map(parseStartIndex)).toEqual([0, 0, 12, -3]);
    for (const wrong of ["", "x", "1.5", "01", "-", "9".repeat(16)])
      expect(() => parseStartIndex(wrong)).toThrow(
        expect.objectContaining({ code: "invalid_request", param: "startIndex" }),
      );
  });

  it("below 0 counts from the end of what there is, and never begins before the beginning", () => {
    fc.assert(
      fc.property(anyLog, fc.integer({ min: -40, max: -1 }), (log, startIndex) => {
        const frames = framesOf(createUiStream(), log).flat();
        const chunks = frames.filter(({ data }) => data !== "[DONE]").length;
        const tailIndex = tailIndexOf(frames.length, true);
        expect(tailIndex).toBe(chunks - 1);
        expect(toFirstFrame(startIndex, tailIndex)).toBe(Math.max(0, chunks + startIndex));
      }),
    );
    expect(tailIndexOf(0, false)).toBe(-1);
  });

  it("names one event of the log and a place in its chunks, from where the rest is the rest of the whole", () => {
    const stream = createUiStream();
    fc.assert(
      fc.property(anyLog, fc.nat(), (log, any) => {
        const told = framesOf(stream, log);
        const whole = told.flat();
        const index = any % whole.length;
        let place = index;
        const event = told.findIndex(({ length }) => (place < length ? true : ((place -= length), false)));
        let state = stream.begin(RUN);
        for (const before of log.slice(0, event)) ({ state } = stream.project(state, before));
        const rest = log.slice(event).flatMap((next) => {
          const projected = stream.project(state, next);
          ({ state } = projected);
          return projected.frames;
        });
        expect(rest.slice(place)).toEqual(whole.slice(index));
      }),
    );
  });
});
