import type { JsonValue, OutputItem, TurnItem } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { type EngineRequest, NO_PREFIX } from "../../engine.ts";
import { formOf, type MessageForm } from "../dialect-form.ts";
import { toRequestMessages } from "./request-messages.ts";

const REQUEST: EngineRequest = { model: "public", input: "Weather?" };
const INPUT = { role: "user", content: "Weather?" };

const text = (said: string): OutputItem => ({ type: "text", text: said, tokens: 1 });
const call = (id: string, args = "{}"): OutputItem => ({
  type: "tool_call",
  call_id: id,
  name: `f_${id}`,
  arguments: args,
});
const result = (id: string, output: JsonValue): OutputItem => ({ type: "tool_result", call_id: id, output });

const asks = (content: string | null, ...ids: string[]) => ({
  role: "assistant",
  content,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: `f_${id}`, arguments: "{}" } })),
});
const answers = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content });

const messagesOf = (turns: readonly TurnItem[], prefix = NO_PREFIX) =>
  toRequestMessages(REQUEST, { turns, prefix }, formOf("openai"));

describe("the messages for the upstream", () => {
  test("have the model's words and calls in one message, then one message for each answer", () => {
    const turns = [text("I"), text(" see."), call("a"), call("b"), result("a", "sunny"), result("b", 7)];
    expect(messagesOf(turns)).toEqual([
      INPUT,
      asks("I see.", "a", "b"),
      answers("a", "sunny"),
      answers("b", "7"),
    ]);
  });

  test("have one turn after the other, with words between them and without", () => {
    const turns = [
      call("a"),
      result("a", "1"),
      call("b"),
      result("b", "2"),
      text("Hm."),
      call("c"),
      result("c", "3"),
    ];
    expect(messagesOf(turns)).toEqual([
      INPUT,
      asks(null, "a"),
      answers("a", "1"),
      asks(null, "b"),
      answers("b", "2"),
      asks("Hm.", "c"),
      answers("c", "3"),
    ]);
  });

  test("have the answers in the order of the calls, whichever tool was first", () => {
    const turns = [call("a"), call("b"), result("b", "2"), result("a", "1")];
    expect(messagesOf(turns)).toEqual([INPUT, asks(null, "a", "b"), answers("a", "1"), answers("b", "2")]);
  });

  test("have a call that was logged after another one's answer in the same turn, while that waits for more", () => {
    const turns = [call("a"), call("b"), result("a", "1"), call("c"), result("c", "3"), result("b", "2")];
    expect(messagesOf(turns)).toEqual([
      INPUT,
      asks(null, "a", "b", "c"),
      answers("a", "1"),
      answers("b", "2"),
      answers("c", "3"),
    ]);
  });

  test("have with a call what the server asks to get back, in its own place, and what was thought before it", () => {
    const provider_state = { google: { thought_signature: "c2VhbGVk" } };
    const turns: TurnItem[] = [
      { type: "reasoning", text: "I need to look." },
      { ...call("a"), provider_state } as TurnItem,
      result("a", "1"),
      call("b"),
      result("b", "2"),
    ];
    const [, first, , second] = messagesOf(turns);
    expect(first).toEqual({
      role: "assistant",
      content: null,
      reasoning_content: "I need to look.",
      tool_calls: [
        {
          id: "a",
          type: "function",
          function: { name: "f_a", arguments: "{}" },
          extra_content: provider_state,
        },
      ],
    });
    // DeepSeek refuses a call without the field, though the model has thought nothing before it.
    expect(second).toMatchObject({ reasoning_content: "" });
    expect(messagesOf([call("a"), result("a", "1")])[1]).not.toHaveProperty("reasoning_content");
  });

  test("have thoughts under the name that the server has for them", () => {
    const turns: TurnItem[] = [{ type: "reasoning", text: "Hm." }, call("a"), result("a", "1")];
    const messagesTo = (form: MessageForm) =>
      toRequestMessages(REQUEST, { turns, prefix: NO_PREFIX }, form)[1];
    expect(messagesTo(formOf("openai", "reasoning"))).toMatchObject({ reasoning: "Hm." });
    expect(messagesTo(formOf("vllm"))).toMatchObject({ reasoning: "Hm." });
    expect(messagesTo(formOf("vllm", "reasoning_content"))).toMatchObject({ reasoning_content: "Hm." });
    expect(messagesTo(formOf("mistral", "reasoning"))).toMatchObject({
      content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }], closed: true }],
    });
  });

  test("end with the prefix", () => {
    const prefix = { text: "It is", tokens: 2 };
    expect(messagesOf([call("a"), result("a", "1")], prefix).at(-1)).toEqual({
      role: "assistant",
      content: "It is",
    });
  });
});
