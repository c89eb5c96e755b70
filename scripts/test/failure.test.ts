import { describe, expect, test } from "vitest";
import { type Failure, filesToRunAgain, flakyLines, isVerdict, MAX_SECOND_RUNS } from "./failure.ts";

function failed(file: string, fields: Partial<Failure> = {}): Failure {
  return { file, test: "streams", message: "timed out\nat line 3", isVerdict: false, ...fields };
}

describe("a failed file runs once more", () => {
  test("whatever failed in it, and once", () => {
    expect(filesToRunAgain([failed("a"), failed("a", { test: "" }), failed("b")], new Set(["c"]))).toEqual([
      "a",
      "b",
    ]);
  });

  test("unless the change adds or edits it", () => {
    expect(filesToRunAgain([failed("a"), failed("b")], new Set(["a"]))).toEqual(["b"]);
  });

  test("unless events were lost, repeated, reordered or leaked in it", () => {
    expect(filesToRunAgain([failed("a"), failed("a", { isVerdict: true }), failed("b")], new Set())).toEqual([
      "b",
    ]);
  });

  test("unless too many failed", () => {
    const failures = Array.from({ length: MAX_SECOND_RUNS + 1 }, (_, n) => failed(`${n}`));
    expect(filesToRunAgain(failures, new Set())).toEqual([]);
    expect(filesToRunAgain(failures.slice(1), new Set())).toHaveLength(MAX_SECOND_RUNS);
  });
});

test("a test that passes the second time is named with its first message", () => {
  const first = [failed("a"), failed("b"), failed("c"), failed("d", { test: "" })];
  expect(flakyLines(first, ["a", "b", "d"], [failed("b"), failed("c")])).toEqual([
    "flaky: a > streams: timed out",
    "flaky: d: timed out",
  ]);
});

test.each([
  ["lost events", true, '{\n  "lost": [\n    {\n'],
  ["a sound ledger", false, '{\n  "duplicated": [],\n  "lost": [],\n'],
  ["a fault row's violation", true, "worker-sigkill, seed 3: duplicated: seq 4 of gen_0_a"],
  ["a trial that did not come about", false, "worker-sigkill, seed 3: harness: the world did not start"],
  ["no text", false, undefined],
])("%s: a verdict: %s", (_name, expected, actual) => {
  expect(isVerdict(actual)).toBe(expected);
});
