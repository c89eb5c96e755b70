import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isErrorCode } from "../errors/error-code.ts";
import {
  timeoutError,
  DEFAULT_TIMEOUTS,
  effectiveTimeoutsSchema,
  TIMEOUT_ANSWERS,
  TIMEOUTS,
  tightenTimeouts,
  timeoutsSchema,
} from "./timeouts.ts";
import { anyTimeouts } from "./timeouts.fixture.ts";

describe("the timeouts of two parties made one", () => {
  it("are the same whichever of the two is the tenant's", () => {
    fc.assert(
      fc.property(anyTimeouts, anyTimeouts, (a, b) => {
        expect(tightenTimeouts(a, b)).toEqual(tightenTimeouts(b, a));
      }),
    );
  });

  it("have the shorter time and the stricter answer of what was said, and a default where nothing was", () => {
    fc.assert(
      fc.property(anyTimeouts, anyTimeouts, fc.constantFrom(...TIMEOUTS), (a, b, name) => {
        const both = tightenTimeouts(a, b)[name];
        const times = [a[name]?.after_ms, b[name]?.after_ms].filter((time) => time !== undefined);
        const answers = [a[name]?.answer, b[name]?.answer].filter((answer) => answer !== undefined);
        const strictest = TIMEOUT_ANSWERS.findLast((answer) => answers.some((said) => said === answer));
        expect(both.after_ms).toBe(
          [...times, ...(times.length ? [] : [DEFAULT_TIMEOUTS[name].after_ms])].toSorted(ascending)[0],
        );
        expect(both.answer).toBe(strictest ?? DEFAULT_TIMEOUTS[name].answer);
      }),
    );
  });

  it("change nothing when tightened again with either", () => {
    fc.assert(
      fc.property(anyTimeouts, anyTimeouts, (a, b) => {
        const both = tightenTimeouts(a, b);
        expect(tightenTimeouts(both, a)).toEqual(both);
        expect(tightenTimeouts(b, both)).toEqual(both);
      }),
    );
  });

  it("leave nothing open, and are what a log may hold", () => {
    fc.assert(
      fc.property(anyTimeouts, anyTimeouts, (a, b) => {
        const both = tightenTimeouts(a, b);
        expect(effectiveTimeoutsSchema.parse(both)).toEqual(both);
        expect(timeoutsSchema.safeParse(both).success).toBe(true);
      }),
    );
  });

  it("are the defaults for a log that was written before there were any", () => {
    expect(effectiveTimeoutsSchema.parse(undefined)).toEqual(DEFAULT_TIMEOUTS);
    const { queue, ...others } = DEFAULT_TIMEOUTS;
    expect(effectiveTimeoutsSchema.parse(others)).toEqual({ ...others, queue });
  });
});

it.each(TIMEOUTS)("the timeout %s has an error of its own that says how long it was", (name) => {
  const error = timeoutError(name, 1_234);
  expect(isErrorCode(error.code)).toBe(true);
  expect(error).toMatchObject({ code: `${name}_timeout`, retryable: true });
  expect(error.message).toContain("1234 ms");
});

function ascending(a: number, b: number): number {
  return a - b;
}
