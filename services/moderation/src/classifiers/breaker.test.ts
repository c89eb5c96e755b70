import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { admit, type BreakerState, CLOSED, settle, type Settlement } from "./breaker.ts";

const OPTIONS = { failuresToOpen: 3, openMs: 100, maxOpenMs: 350 };

/** Asks and settles at once, as often as there are settlements. */
function after(state: BreakerState, nowMs: number, ...settlements: Settlement[]): BreakerState {
  return settlements.reduce((current, settlement) => {
    const { state: next, admission } = admit(current, nowMs);
    return admission === "refused" ? next : settle(next, { admission, settlement, nowMs }, OPTIONS);
  }, state);
}

const admissionOf = (state: BreakerState, nowMs: number) => admit(state, nowMs).admission;

describe("a breaker", () => {
  test("opens after a number of failures in a row, for openMs", () => {
    expect(after(CLOSED, 0, "failure", "failure")).toEqual({ phase: "closed", failures: 2 });
    const open = after(CLOSED, 0, "failure", "failure", "failure");
    expect([0, 99, 100].map((nowMs) => admissionOf(open, nowMs))).toEqual(["refused", "refused", "trial"]);
  });

  test("counts from the last success, and does not count what was abandoned", () => {
    const state = after(CLOSED, 0, "failure", "failure", "success", "failure", "abandoned", "failure");
    expect(state).toEqual({ phase: "closed", failures: 2 });
  });

  test("lets one trial through, and no second while it is under way", () => {
    const { state } = admit(after(CLOSED, 0, "failure", "failure", "failure"), 100);
    expect(admissionOf(state, 1_000)).toBe("refused");
  });

  test("stays open for twice as long after each trial that fails, up to its most", () => {
    let state = after(CLOSED, 0, "failure", "failure", "failure");
    const waits: number[] = [];
    for (let nowMs = 100, trial = 0; trial < 3; trial++) {
      state = after(state, nowMs, "failure");
      expect(state.phase).toBe("open");
      waits.push((state as { untilMs: number }).untilMs - nowMs);
      nowMs = (state as { untilMs: number }).untilMs;
    }
    expect(waits).toEqual([200, 350, 350]);
  });

  test.each<Settlement>(["success", "failure"])(
    "is not moved by the %s of what was asked before it opened",
    (settlement) => {
      const open = after(CLOSED, 0, "failure", "failure", "failure");
      const late = { admission: "admitted", settlement, nowMs: 100 } as const;
      expect(settle(open, late, OPTIONS)).toBe(open);
      const { state: trying } = admit(open, 100);
      expect(settle(trying, late, OPTIONS)).toBe(trying);
    },
  );

  test("always asks again within maxOpenMs, after any history", () => {
    const step = fc.record({
      waitMs: fc.nat(200),
      settlement: fc.constantFrom<Settlement>("success", "failure", "abandoned"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        let nowMs = 0;
        const state = steps.reduce((current, { waitMs, settlement }) => {
          nowMs += waitMs;
          return after(current, nowMs, settlement);
        }, CLOSED);
        expect(admissionOf(state, nowMs + OPTIONS.maxOpenMs)).not.toBe("refused");
      }),
    );
  });
});
