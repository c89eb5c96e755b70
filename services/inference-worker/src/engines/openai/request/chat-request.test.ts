import type { JsonValue } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { type EngineRequest, NO_PREFIX, NO_PROGRESS, type Progress, type Seam } from "../../engine.ts";
import { canContinueRequest, toChatRequest, type UpstreamModel } from "./chat-request.ts";

const MODEL: UpstreamModel = {
  upstreamModel: "org/m",
  continuation: "none",
  maxTokensField: "max_tokens",
  dialect: "openai",
};
const REQUEST: EngineRequest = { model: "public", input: "Hi" };
const CONTINUED: Progress = { turns: [], prefix: { text: "Hello, I", tokens: 3 } };

const ANSWERED: Progress = {
  turns: [
    { type: "text", text: "Let me see.", tokens: 4 },
    { type: "tool_call", call_id: "a", name: "get_time", arguments: "{}" },
    { type: "tool_result", call_id: "a", output: "noon" },
  ],
  prefix: CONTINUED.prefix,
};
const TOOLS = [{ name: "get_time" }];
const ALLOWED = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [] } };

describe("the body for the upstream", () => {
  test("of the smallest request asks for a stream with usage", () => {
    expect(toChatRequest(REQUEST, NO_PROGRESS, MODEL)).toEqual({
      model: "org/m",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("has every field of the request that is the model's by the upstream's name, and its options beside them", () => {
    const request: EngineRequest = {
      model: "public",
      input: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi" },
      ],
      max_output_tokens: 9,
      temperature: 0.5,
      stop: ["\n"],
      seed: 7,
      metadata: { team: "a" },
      subject: "person-7",
      options: { top_p: 0.9, chat_template_kwargs: { enable_thinking: false } },
    };
    expect(toChatRequest(request, NO_PROGRESS, MODEL)).toEqual({
      model: "org/m",
      messages: request.input,
      max_tokens: 9,
      temperature: 0.5,
      stop: ["\n"],
      seed: 7,
      top_p: 0.9,
      chat_template_kwargs: { enable_thinking: false },
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("names the limit as the model's configuration says", () => {
    const body = toChatRequest({ ...REQUEST, max_output_tokens: 9 }, NO_PROGRESS, {
      ...MODEL,
      maxTokensField: "max_completion_tokens",
    });
    expect(body).toMatchObject({ max_completion_tokens: 9 });
    expect(body).not.toHaveProperty("max_tokens");
  });

  test("of a continued run ends with the prefix and asks for the rest of the tokens", () => {
    const body = toChatRequest({ ...REQUEST, max_output_tokens: 9 }, CONTINUED, {
      ...MODEL,
      continuation: "continue_final_message",
    });
    expect(body).toMatchObject({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello, I" },
      ],
      max_tokens: 6,
      continue_final_message: true,
      add_generation_prompt: false,
    });
  });

  test.each(["continue_final_message", "assistant_prefill"] as const)(
    "of a run that may be continued asks for a count with every piece: %s",
    (continuation) => {
      expect(toChatRequest(REQUEST, NO_PROGRESS, { ...MODEL, continuation })).toMatchObject({
        stream_options: { include_usage: true, continuous_usage_stats: true },
        timings_per_token: true,
      });
    },
  );

  test("counts reasoning against the limit", () => {
    const progress = { ...ANSWERED, reasoningTokens: 1 };
    expect(toChatRequest({ ...REQUEST, max_output_tokens: 9 }, progress, MODEL)).toMatchObject({
      max_tokens: 1,
    });
  });

  test("of a continued run on an upstream that prefills unasked does not ask", () => {
    const body = toChatRequest(REQUEST, CONTINUED, { ...MODEL, continuation: "assistant_prefill" });
    expect(body).toMatchObject({ messages: [{}, { role: "assistant", content: "Hello, I" }] });
    expect(body).not.toHaveProperty("continue_final_message");
    expect(body).not.toHaveProperty("add_generation_prompt");
  });

  test("offers the request's tools, each with a schema of its arguments", () => {
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const tools = [
      { name: "get_weather", description: "The weather now.", parameters },
      { name: "get_time" },
    ];
    expect(toChatRequest({ ...REQUEST, tools }, NO_PROGRESS, MODEL)).toMatchObject({
      tools: [
        { type: "function", function: { name: "get_weather", description: "The weather now.", parameters } },
        { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } },
      ],
    });
  });

  test("after a tool's answer has the turns before the prefix, and asks for the rest of all tokens", () => {
    const body = toChatRequest({ ...REQUEST, max_output_tokens: 9 }, ANSWERED, {
      ...MODEL,
      continuation: "continue_final_message",
    });
    expect(body).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", content: "Let me see.", tool_calls: [{ id: "a" }] },
        { role: "tool", tool_call_id: "a" },
        { role: "assistant", content: "Hello, I" },
      ],
      max_tokens: 2,
      continue_final_message: true,
    });
  });

  test("after a tool's answer without a prefix does not ask for a continuation", () => {
    const body = toChatRequest(
      REQUEST,
      { ...ANSWERED, prefix: NO_PREFIX },
      {
        ...MODEL,
        continuation: "continue_final_message",
      },
    );
    expect(body).not.toHaveProperty("continue_final_message");
  });

  test("releases a forced call written in any case, and leaves no second choice behind", () => {
    const body = toChatRequest({ ...REQUEST, options: { Tool_Choice: "required" } }, ANSWERED, MODEL);
    expect(body).toMatchObject({ tool_choice: "auto" });
    expect(body).not.toHaveProperty("Tool_Choice");
  });

  test.each<[JsonValue, JsonValue]>([
    ["required", "auto"],
    ["any", "auto"],
    [{ type: "function", function: { name: "get_time" } }, "auto"],
    [{ type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } }, "auto"],
    ["auto", "auto"],
    ["none", "none"],
    [ALLOWED, ALLOWED],
  ])("with the tool choice %j has it in the first run, and %j after a tool's answer", (choice, later) => {
    const request = { ...REQUEST, options: { tool_choice: choice, parallel_tool_calls: false } };
    expect(toChatRequest(request, CONTINUED, MODEL)).toMatchObject(request.options);
    expect(toChatRequest(request, ANSWERED, MODEL)).toMatchObject({
      tool_choice: later,
      parallel_tool_calls: false,
    });
  });
});

const SEAM: Seam = { prefix: { text: "Hello, I", tokens: 3 }, reasoned: false, counted: true };

describe("a request", () => {
  const continuing = { ...MODEL, continuation: "continue_final_message" } as const;

  test.each(["continue_final_message", "assistant_prefill"] as const)(
    "can be continued where the model's setting is %s",
    (continuation) => {
      expect(canContinueRequest(REQUEST, { ...MODEL, continuation }, SEAM)).toBe(true);
    },
  );

  test.each([{}, { tool_choice: "auto" }, { tool_choice: "none" }, { tool_choice: ALLOWED }])(
    "with tools and the options %j can be continued",
    (options) => {
      const request = { ...REQUEST, tools: [{ name: "get_time" }], options };
      expect(canContinueRequest(request, continuing, SEAM)).toBe(true);
    },
  );

  test.each<[string, Partial<EngineRequest>, UpstreamModel]>([
    ["the model's setting is none", {}, MODEL],
    ["a stop sequence could lie across the seam", { stop: ["END"] }, continuing],
    ["a grammar would begin again", { options: { response_format: { type: "json_object" } } }, continuing],
    [
      "the input ends with the assistant's words",
      { input: [{ role: "assistant", content: "I" }] },
      continuing,
    ],
    ["a tool call is forced", { options: { tool_choice: "required" } }, continuing],
    ["its options are wrong", { options: { stream: false } }, continuing],
    ["its own tokens are penalised", { options: { presence_penalty: 0.5 } }, continuing],
    ["it has a least length", { options: { min_tokens: 5 } }, continuing],
    ["its own tokens are penalised, in any case", { options: { Presence_Penalty: 0.5 } }, continuing],
    ["a grammar would begin again, in any case", { options: { "Guided-JSON": {} } }, continuing],
    ["a tool call is forced, in any case", { options: { Tool_Choice: "required" } }, continuing],
    ["its answer has a form", { response_format: { type: "json_object" } }, continuing],
    ["its field forces a call", { tools: TOOLS, tool_choice: { name: "get_time" } }, continuing],
    ["its field penalises its tokens", { frequency_penalty: 0.5 }, continuing],
    ["its thoughts have a budget", { reasoning: { max_tokens: 5 } }, continuing],
  ])("can't be continued where %s", (_, fields, model) => {
    expect(canContinueRequest({ ...REQUEST, ...fields }, model, SEAM)).toBe(false);
  });

  test.each<Partial<EngineRequest>>([
    { response_format: { type: "text" } },
    { tools: TOOLS, tool_choice: "none", parallel_tool_calls: false },
    { frequency_penalty: 0, presence_penalty: 0 },
    {
      top_p: 0.5,
      top_k: 5,
      min_p: 0.1,
      logit_bias: { 7: 1 },
      verbosity: "low",
      reasoning: { effort: "low" },
    },
  ])("can be continued with fields that bind no run to its own words: %j", (fields) => {
    expect(canContinueRequest({ ...REQUEST, ...fields }, continuing, SEAM)).toBe(true);
  });

  test("with a forced call is free after the tool's answer, and keeps what is not forced", () => {
    const choiceOf = (choice: NonNullable<EngineRequest["tool_choice"]>, progress: Progress) =>
      toChatRequest({ ...REQUEST, tools: TOOLS, tool_choice: choice }, progress, MODEL)["tool_choice"];
    expect(choiceOf("required", NO_PROGRESS)).toBe("required");
    expect(choiceOf("required", ANSWERED)).toBe("auto");
    expect(choiceOf({ name: "get_time" }, ANSWERED)).toBe("auto");
    expect(choiceOf("none", ANSWERED)).toBe("none");
  });

  test("gives the template both the option's and the field's arguments", () => {
    const request: EngineRequest = {
      ...REQUEST,
      reasoning: { effort: "low" },
      options: { chat_template_kwargs: { enable_thinking: true } },
    };
    const body = toChatRequest(request, NO_PROGRESS, { ...MODEL, dialect: "llama.cpp" });
    expect(body["chat_template_kwargs"]).toEqual({ enable_thinking: true, reasoning_effort: "low" });
  });

  const limited = { ...REQUEST, max_output_tokens: 9 };

  test.each<[string, EngineRequest, Partial<Seam>]>([
    ["the model has said something to itself", REQUEST, { reasoned: true }],
    ["it has a limit, and the server has not counted the prefix", limited, { counted: false }],
    ["the prefix has bytes that are not known", REQUEST, { prefix: { text: "caf\uFFFD", tokens: 2 } }],
  ])("can't be continued where %s", (_, request, seam) => {
    expect(canContinueRequest(request, continuing, { ...SEAM, ...seam })).toBe(false);
  });

  test("with a limit can be continued where the server has counted the prefix, and without one where it has not", () => {
    expect(canContinueRequest(limited, continuing, SEAM)).toBe(true);
    expect(canContinueRequest(REQUEST, continuing, { ...SEAM, counted: false })).toBe(true);
  });

  test("can't be continued after a blank by a server that may trim it", () => {
    const seam = { ...SEAM, prefix: { text: "Hello, ", tokens: 2 } };
    expect(canContinueRequest(REQUEST, { ...MODEL, continuation: "assistant_prefill" }, seam)).toBe(false);
    expect(canContinueRequest(REQUEST, continuing, seam)).toBe(true);
  });
});
