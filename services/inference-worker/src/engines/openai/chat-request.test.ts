import { describe, expect, test } from "vitest";
import { type EngineRequest, NO_PREFIX } from "../engine.ts";
import { canContinueRequest, toChatRequest, type UpstreamModel } from "./chat-request.ts";

const MODEL: UpstreamModel = { upstreamModel: "org/m", continuation: "none", maxTokensField: "max_tokens" };
const REQUEST: EngineRequest = { model: "public", input: "Hi" };
const PREFIX = { text: "Hello, I", tokens: 3 };

describe("the body for the upstream", () => {
  test("of the smallest request asks for a stream with usage", () => {
    expect(toChatRequest(REQUEST, NO_PREFIX, MODEL)).toEqual({
      model: "org/m",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("has every field of the request by the upstream's name, and its options beside them", () => {
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
      options: { top_p: 0.9, chat_template_kwargs: { enable_thinking: false } },
    };
    expect(toChatRequest(request, NO_PREFIX, MODEL)).toEqual({
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
    const body = toChatRequest({ ...REQUEST, max_output_tokens: 9 }, NO_PREFIX, {
      ...MODEL,
      maxTokensField: "max_completion_tokens",
    });
    expect(body).toMatchObject({ max_completion_tokens: 9 });
    expect(body).not.toHaveProperty("max_tokens");
  });

  test("of a continued run ends with the prefix and asks for the rest of the tokens", () => {
    const body = toChatRequest({ ...REQUEST, max_output_tokens: 9 }, PREFIX, {
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

  test("of a continued run on an upstream that prefills unasked does not ask", () => {
    const body = toChatRequest(REQUEST, PREFIX, { ...MODEL, continuation: "assistant_prefill" });
    expect(body).toMatchObject({ messages: [{}, { role: "assistant", content: "Hello, I" }] });
    expect(body).not.toHaveProperty("continue_final_message");
    expect(body).not.toHaveProperty("add_generation_prompt");
  });

  test("of a run that begins anew never asks for a continuation", () => {
    const body = toChatRequest(REQUEST, NO_PREFIX, { ...MODEL, continuation: "continue_final_message" });
    expect(body).not.toHaveProperty("continue_final_message");
  });

  test.each([
    "model",
    "messages",
    "stream",
    "stream_options",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "add_generation_prompt",
    "priority",
    "kv_transfer_params",
  ])("can't be had with %s among the options", (key) => {
    expect(() => toChatRequest({ ...REQUEST, options: { [key]: 1 } }, NO_PREFIX, MODEL)).toThrow(
      expect.objectContaining({ code: "invalid_request", param: `options.${key}` }) as Error,
    );
  });
});

describe("a request", () => {
  const continuing = { ...MODEL, continuation: "continue_final_message" } as const;

  test.each(["continue_final_message", "assistant_prefill"] as const)(
    "can be continued where the model's setting is %s",
    (continuation) => {
      expect(canContinueRequest(REQUEST, { ...MODEL, continuation })).toBe(true);
    },
  );

  test.each<[string, Partial<EngineRequest>, UpstreamModel]>([
    ["the model's setting is none", {}, MODEL],
    ["a stop sequence could lie across the seam", { stop: ["END"] }, continuing],
    ["a grammar would begin anew", { options: { response_format: { type: "json_object" } } }, continuing],
    [
      "the input ends with the assistant's words",
      { input: [{ role: "assistant", content: "I" }] },
      continuing,
    ],
    ["its options are wrong", { options: { stream: false } }, continuing],
  ])("can't be continued where %s", (_, fields, model) => {
    expect(canContinueRequest({ ...REQUEST, ...fields }, model)).toBe(false);
  });
});
