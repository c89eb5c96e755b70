import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  answered,
  called,
  cancelled,
  completed,
  delta,
  type Draft,
  fold,
  rewind,
  started,
} from "./transcript.fixture.ts";

const idsOf = (calls: readonly { call_id: string }[]) => calls.map(({ call_id }) => call_id);

describe("a transcript with tool calls", () => {
  it("awaits tools while a call has no answer, and continues when all have one", () => {
    const log = [
      started(),
      delta("Let me see. "),
      called("a"),
      called("b"),
      answered("b"),
      answered("a", { n: 1 }),
    ];
    const statuses = log.map((_, i) => fold(...log.slice(0, i + 1)).status);
    expect(statuses).toEqual([
      "in_progress",
      "in_progress",
      "awaiting_tool",
      "awaiting_tool",
      "awaiting_tool",
      "in_progress",
    ]);
    expect(idsOf(fold(...log.slice(0, 5)).pendingCalls)).toEqual(["a"]);
    expect(fold(...log).turnSeq).toBe(6);
  });

  it("has text, calls and answers in the order of the log, with neighbouring texts made one", () => {
    const log = [
      started(),
      delta("Let "),
      delta("me see. "),
      called("a"),
      answered("a", [7]),
      delta("It is "),
      delta("7."),
    ];
    expect(fold(...log).output).toEqual([
      { type: "text", text: "Let me see. ", tokens: 2 },
      { type: "tool_call", call_id: "a", name: "look_up", arguments: "{}" },
      { type: "tool_result", call_id: "a", output: [7] },
      { type: "text", text: "It is 7.", tokens: 2 },
    ]);
    expect(fold(...log).text).toBe("Let me see. It is 7.");
  });

  it("takes the first answer to a call, and no answer to a call that it does not know", () => {
    const transcript = fold(started(), called("a"), answered("a", 1), answered("a", 2), answered("b", 3));
    expect(transcript.output.slice(1)).toEqual([{ type: "tool_result", call_id: "a", output: 1 }]);
  });

  it("keeps calls and their answers through a rewind to the last answer", () => {
    const transcript = fold(
      started(),
      called("a"),
      answered("a"),
      delta("It i"),
      started(2),
      rewind(3),
      delta("7."),
    );
    expect(transcript.text).toBe("7.");
    expect(transcript.output.map(({ type }) => type)).toEqual(["tool_call", "tool_result", "text"]);
    expect(transcript.status).toBe("in_progress");
  });

  it("drops a call that was rewound: an answer to it changes nothing, and its id stays taken", () => {
    const transcript = fold(started(), called("a"), started(2), rewind(0), answered("a"));
    expect([transcript.status, transcript.pendingCalls, transcript.hasCall("a"), transcript.output]).toEqual([
      "in_progress",
      [],
      true,
      [],
    ]);
  });

  it("knows a call whether or not it was answered", () => {
    const transcript = fold(started(), called("a"), answered("a"), called("b"));
    expect(["a", "b", "c"].map((id) => transcript.hasCall(id))).toEqual([true, true, false]);
    expect(["a", "b", "c"].map((id) => transcript.hasResult(id))).toEqual([true, false, false]);
  });

  it.each([completed("timeout"), cancelled()])("awaits nothing after the end: $type", (end) => {
    const transcript = fold(started(), called("a"), end);
    expect([transcript.ended, transcript.pendingCalls]).toEqual([true, []]);
    expect(transcript.status).not.toBe("awaiting_tool");
  });

  it("tells whether the turn after the last answer was shown already", () => {
    const log = [started(), delta("x"), called("a"), answered("a"), { type: "reasoning.delta", text: "hm" }];
    expect(log.map((_, i) => fold(...log.slice(0, i + 1)).turnShown)).toEqual([
      false,
      true,
      true,
      false,
      true,
    ]);
    expect(fold(...log, rewind(4)).turnShown).toBe(false);
  });

  it("has as many answers as calls minus those that wait, in any order", () => {
    const anyId = fc.constantFrom("a", "b", "c", "d");
    const anyDraft: fc.Arbitrary<Draft> = fc.oneof(
      anyId.map((id) => answered(id)),
      fc.constant(delta("x")),
    );
    fc.assert(
      fc.property(fc.uniqueArray(anyId), fc.array(anyDraft), (ids, later) => {
        const { output, pendingCalls } = fold(started(), ...ids.map((id) => called(id)), ...later);
        const answers = output.flatMap((item) => (item.type === "tool_result" ? [item] : []));
        expect([...idsOf(answers), ...idsOf(pendingCalls)].toSorted()).toEqual(ids.toSorted());
      }),
    );
  });
});

it("counts the audio that calls report: of the input once, of the output over all turns", () => {
  const audio = (id: string, input: number, output: number) => ({
    ...called(id),
    audio_input_tokens: input,
    audio_output_tokens: output,
  });
  const { usage } = fold(started(), audio("a", 3, 1), answered("a"), audio("b", 9, 2));
  expect(usage).toMatchObject({ audio_input_tokens: 3, audio_output_tokens: 3 });
  expect(fold(started(), called("a")).usage).not.toHaveProperty("audio_input_tokens");
});
