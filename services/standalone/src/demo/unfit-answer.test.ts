import { describe, expect, test } from "vitest";
import { unfitAnswer } from "./unfit-answer.ts";

const CUT = { cutAfterEvents: 25 };

describe("an answer that the demo can't show anything with", () => {
  test("one that continues after the cut will do", () => {
    expect(unfitAnswer({ status: "completed", events: 26 }, CUT)).toBeUndefined();
  });

  test("one that is over by then is told with both numbers", () => {
    expect(unfitAnswer({ status: "completed", events: 25 }, CUT)).toMatch(/has 25 events.*after 25/);
  });

  test("one that failed is told with its error, however long it was", () => {
    const error = { code: "engine_unavailable", message: "The model server is away." };
    expect(unfitAnswer({ status: "failed", error, events: 40 }, CUT)).toContain(
      "failed (engine_unavailable: The model server is away.)",
    );
  });
});
