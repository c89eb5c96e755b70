import type { ChatCompletionCreateParams } from "openai/resources/chat/completions/completions";
import { describe, expect, it } from "vitest";
import { parseChatRequest } from "./parse-request.ts";

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const PDF = "data:application/pdf;base64,JVBERi0=";
const BLOB = `blob_${"0".repeat(26)}`;
const HI = [{ role: "user", content: "Hi" }] satisfies ChatCompletionCreateParams["messages"];
const TOOLS = [
  {
    type: "function",
    function: { name: "look_up", description: "Looks up.", parameters: { type: "object" }, strict: true },
  },
] satisfies ChatCompletionCreateParams["tools"];

const parse = (fields: Partial<ChatCompletionCreateParams>) =>
  parseChatRequest({ model: "sim", messages: HI, ...fields });
const nativeOf = (fields: Partial<ChatCompletionCreateParams>) => parse(fields).request;

describe("a request", () => {
  it("with each message and part is the native input", () => {
    const { input } = nativeOf({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "developer", content: [{ type: "text", text: "Be kind." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image_url", image_url: { url: PNG, detail: "low" } },
            { type: "image_url", image_url: { url: BLOB } },
            { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
            { type: "file", file: { file_data: PDF, filename: "a.pdf" } },
            { type: "file", file: { file_id: BLOB } },
          ],
        },
        {
          role: "assistant",
          content: null,
          refusal: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "found" },
        { role: "assistant", content: "", refusal: "No." },
        { role: "assistant", content: [{ type: "text", text: "Yes." }] },
      ],
    });
    expect(input).toEqual([
      { role: "system", content: "Be brief." },
      { role: "developer", content: [{ type: "text", text: "Be kind." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "See" },
          { type: "image", url: PNG, detail: "low" },
          { type: "image", blob: BLOB },
          { type: "audio", url: "data:audio/wav;base64,UklGRg==" },
          { type: "file", url: PDF, name: "a.pdf" },
          { type: "file", blob: BLOB },
        ],
      },
      { role: "assistant", tool_calls: [{ call_id: "c1", name: "look_up", arguments: "{}" }] },
      { role: "tool", call_id: "c1", output: "found" },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { role: "assistant", content: [{ type: "text", text: "Yes." }] },
    ]);
  });

  it("with each field that has another name is the native one", () => {
    expect(
      nativeOf({
        max_completion_tokens: 7,
        logprobs: true,
        top_logprobs: 2,
        stop: "END",
        tools: TOOLS,
        tool_choice: { type: "function", function: { name: "look_up" } },
        response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
        reasoning_effort: "low",
        service_tier: "fast",
        user: "u-1",
        safety_identifier: "p-1",
      }),
    ).toEqual({
      model: "sim",
      input: HI,
      max_output_tokens: 7,
      logprobs: 2,
      stop: ["END"],
      tools: [{ name: "look_up", description: "Looks up.", parameters: { type: "object" }, strict: true }],
      tool_calls: "end",
      tool_choice: { name: "look_up" },
      response_format: { type: "json_schema", name: "a", schema: { type: "object" } },
      reasoning: { effort: "low" },
      service_tier: "priority",
      priority: "interactive",
      end_user: "u-1",
      subject: "p-1",
    });
  });

  it("says how it is to be answered", () => {
    expect(parse({})).toMatchObject({ stream: false, includeUsage: false });
    expect(parse({ stream: true, stream_options: { include_usage: true } })).toMatchObject({
      stream: true,
      includeUsage: true,
    });
  });

  it("that sends a message of an answer back is taken", () => {
    const message = {
      role: "assistant",
      content: "Yes.",
      refusal: null,
      annotations: [],
      parsed: null,
      reasoning_content: "Hm.",
    };
    expect(parseChatRequest({ model: "sim", messages: [...HI, message] }).request.input).toEqual([
      ...HI,
      { role: "assistant", content: "Yes.", reasoning: "Hm." },
    ]);
  });

  it("that sends a call back with what its server asked to get back with it hands that over", () => {
    const call = { id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } };
    const extra_content = { google: { thought_signature: "x" } };
    const message = {
      role: "assistant",
      content: null,
      reasoning_content: "Hm.",
      tool_calls: [{ ...call, extra_content }],
    };
    const input = parseChatRequest({ model: "sim", messages: [...HI, message] }).request.input;
    expect(input[1]).toEqual({
      role: "assistant",
      reasoning: "Hm.",
      tool_calls: [{ call_id: "c1", name: "look_up", arguments: "{}", provider_state: extra_content }],
    });
    const large = { ...message, tool_calls: [{ ...call, extra_content: { a: "x".repeat(65_536) } }] };
    expect(() => parseChatRequest({ model: "sim", messages: [...HI, large] })).toThrow(
      expect.objectContaining({ param: "messages.1.tool_calls.0.extra_content" }),
    );
  });

  it("to a model that can't be handed its thoughts is without those of answers, which clients send back unasked", () => {
    const call = { id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } };
    const answer = { role: "assistant", content: "Yes.", reasoning_content: "Hm." };
    const asked = { role: "assistant", reasoning_content: "Hm.", tool_calls: [call] };
    const { request } = parseChatRequest(
      { model: "sim", messages: [...HI, answer, asked] },
      { keepsReasoning: () => false },
    );
    expect(request.input.slice(1)).toEqual([
      { role: "assistant", content: "Yes." },
      {
        role: "assistant",
        reasoning: "Hm.",
        tool_calls: [{ call_id: "c1", name: "look_up", arguments: "{}" }],
      },
    ]);
  });

  it("has null for none in each field that may be absent", () => {
    const nulls = Object.fromEntries(
      ["audio", "functions", "n", "seed", "stop", "tools", "user", "temperature"].map((name) => [name, null]),
    );
    expect(parseChatRequest({ model: "sim", messages: HI, ...nulls }).request).toEqual({
      model: "sim",
      input: HI,
    });
  });
});

describe("what cannot be honoured", () => {
  it.each([
    ["messages", { messages: [] }],
    ["model", { model: "" }],
    ["frobnicate", { frobnicate: 1 }],
    ["messages.0.role", { messages: [{ role: "function", name: "f", content: "x" }] }],
    ["messages.0.name", { messages: [{ role: "user", name: "Ann", content: "x" }] }],
    [
      "messages.0.content.0",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "http://a" } }] }] },
    ],
    ["messages.0.tool_call_id", { messages: [{ role: "tool", tool_call_id: "c1", content: "x" }] }],
    ["max_completion_tokens", { max_tokens: 0 }],
    ["max_tokens", { max_tokens: 1, max_completion_tokens: 2 }],
    ["stream_options", { stream_options: { include_usage: true } }],
    ["tools.0.function.name", { tools: [{ type: "function", function: { name: "a.b" } }] }],
    ["tools.0.type", { tools: [{ type: "custom", custom: { name: "a" } }] }],
    [
      "tool_choice.function.name",
      { tools: TOOLS, tool_choice: { type: "function", function: { name: "x" } } },
    ],
    [
      "response_format.json_schema.schema",
      { response_format: { type: "json_schema", json_schema: { name: "a" } } },
    ],
    ["reasoning_effort", { reasoning_effort: "max" }],
    ["top_logprobs", { logprobs: true, top_logprobs: 21 }],
    ["top_logprobs", { top_logprobs: 2 }],
    ["user", { user: "Ann Smith" }],
    ["n", { n: 2 }],
  ])("is refused under the name that the client has sent: %s", (param, fields) => {
    expect(() => parseChatRequest({ model: "sim", messages: HI, ...fields })).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        param,
        message: expect.stringContaining(`${param}: `),
      }),
    );
  });
});
