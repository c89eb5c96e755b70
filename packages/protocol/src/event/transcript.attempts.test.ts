import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delta, type Draft, ended, fold, started } from "./transcript.fixture.ts";

describe("the attempts of a transcript", () => {
  it.each([
    ["the first", [started(1)], 1],
    ["one that took over from a lost worker", [started(1), started(2, { reason: "worker_lost" })], 2],
    ["one of a log that was written before there were reasons", [started(1), started(2)], 2],
    ["one that was too slow", [started(1), ended(1, "timeout"), started(2, { reason: "timeout" })], 2],
  ] satisfies [string, Draft[], number][])("are counted: %s", (_, log, counted) =>
    expect(fold(...log).countedAttempts).toBe(counted),
  );

  it.each(["handover", "fallback", "log_lost"])(
    "are not counted when the one before ended with %s",
    (reason) => expect(fold(started(1), ended(1, reason), started(2, { reason })).countedAttempts).toBe(1),
  );

  it("are over, with the reason that their worker gave, until the next begins", () => {
    const log = [started(1), ended(1, "handover"), started(2, { reason: "handover" })];
    expect(log.map((_, i) => fold(...log.slice(0, i + 1)).attemptEnd)).toEqual([
      undefined,
      "handover",
      undefined,
    ]);
  });

  it("are not over because an earlier one is", () => {
    expect(fold(started(1), started(2), ended(1, "timeout")).attemptEnd).toBeUndefined();
  });

  it("say whose they are and which model serves them", () => {
    const { attempt, worker, servedModel } = fold(
      started(1),
      delta("x"),
      started(2, { model: "spare", reason: "fallback" }),
    );
    expect([attempt, worker, servedModel]).toEqual([2, "w2", "spare"]);
  });

  it("count no more than there are, and at least one", () => {
    const reasons = ["worker_lost", "timeout", "engine_failed", "handover", "fallback", "log_lost"];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...reasons)), (later) => {
        const { countedAttempts } = fold(started(1), ...later.map((reason, i) => started(i + 2, { reason })));
        expect(countedAttempts).toBe(
          1 + later.filter((reason) => ["worker_lost", "timeout", "engine_failed"].includes(reason)).length,
        );
      }),
    );
  });
});

describe("the input of a transcript", () => {
  const counted = (input_tokens: number): Draft => ({
    type: "output.delta",
    text: "a",
    tokens: 2,
    input_tokens,
  });

  it("is what an engine has said of it first", () => {
    expect(fold(started(), counted(7), started(2), counted(9)).usage).toEqual({
      input_tokens: 7,
      output_tokens: 4,
    });
    expect(fold(started(1, { input_tokens: 3 }), counted(7)).usage.input_tokens).toBe(3);
    expect(fold(started(), delta("a")).usage.input_tokens).toBeNull();
  });
});
