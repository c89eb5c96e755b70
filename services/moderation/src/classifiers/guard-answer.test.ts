import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readGuardAnswer } from "./guard-answer.ts";

type Token = { token: string; logprob: number; top_logprobs?: Token[] };

const answer = (content: unknown, tokens?: Token[]) => ({
  id: "chatcmpl-1",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content },
      finish_reason: "stop",
      logprobs: tokens && { content: tokens },
    },
  ],
});

describe("a guard's answer", () => {
  test.each([
    ["safe", [], { unsafe: 0 }],
    ["\n\nsafe", [], { unsafe: 0 }],
    ["unsafe\nS1", ["S1", "unsafe"], { S1: 1, unsafe: 1 }],
    ["unsafe \r\n S1, S10 ", ["S1", "S10", "unsafe"], { S1: 1, S10: 1, unsafe: 1 }],
    ["unsafe\nI am sorry, <b>", ["unsafe"], { unsafe: 1 }],
  ])("%j is a judgement", (content, flagged, scores) => {
    expect(readGuardAnswer(answer(content))).toEqual({ kind: "judged", flagged, scores });
  });

  test("scores by the probability of unsafe, of the first token that is no white space", () => {
    const tokens = [
      { token: "\n\n", logprob: 0 },
      {
        token: "unsafe",
        logprob: Math.log(0.8),
        top_logprobs: [{ token: "unsafe", logprob: Math.log(0.8) }],
      },
      { token: "S1", logprob: Math.log(0.5) },
    ];
    const { scores } = readGuardAnswer(answer("\n\nunsafe\nS1", tokens)) as {
      scores: Record<string, number>;
    };
    expect(scores["S1"]).toBeCloseTo(0.8);
    expect(scores["unsafe"]).toBeCloseTo(0.8);
  });

  test("that is safe scores by how near it was to unsafe, in any split into tokens", () => {
    const top = [
      { token: "safe", logprob: Math.log(0.7) },
      { token: "un", logprob: Math.log(0.2) },
      { token: "Unsafe", logprob: Math.log(0.1) },
      { token: "", logprob: 0 },
    ];
    const tokens = [{ token: "safe", logprob: Math.log(0.7), top_logprobs: top }];
    const result = readGuardAnswer(answer("safe", tokens)) as { scores: Record<string, number> };
    expect(result).toMatchObject({ flagged: [] });
    expect(result.scores["unsafe"]).toBeCloseTo(0.3);
  });

  test.each(["x", { content: [{ token: 1 }] }, null])(
    "with the logprobs %j is a judgement without them",
    (logprobs) => {
      const value = { choices: [{ message: { content: "unsafe\nS2" }, logprobs }] };
      expect(readGuardAnswer(value)).toMatchObject({ flagged: ["S2", "unsafe"], scores: { S2: 1 } });
    },
  );

  test.each(["", "safe, I think", "unsafely", null])("%j is invalid", (content) => {
    expect(readGuardAnswer(answer(content))).toMatchObject({ kind: "unjudged", reason: "invalid" });
  });

  test("never throws and never quotes, for any answer", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ minLength: 12 }), (value, said) => {
        expect(readGuardAnswer(value)).toMatchObject({ kind: "unjudged" });
        expect(JSON.stringify(readGuardAnswer(answer(`unsafe\n${said} !`)))).not.toContain(said);
      }),
    );
  });
});
