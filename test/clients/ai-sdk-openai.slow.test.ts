import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as cases from "./testing/cases.ts";
import { aiSdkCompatible, aiSdkOpenai, aiSdkResponses } from "./testing/ai-sdk.ts";
import { type Platform, startPlatform } from "./testing/platform.ts";
import { CALLING, REASONING } from "./testing/sim.ts";

/* One platform for all: each test counts its own runs. */
let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ workers: 2, moderation: true });
});
afterAll(() => platform[Symbol.asyncDispose]());

test("@ai-sdk/openai chat | plain", () => cases.plain(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | tools", () => cases.tools(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | structured", () => cases.structured(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | cancel", () => cases.cancel(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | failure", () => cases.failure(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | observe", () => cases.observe(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | gate", () => cases.gate(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | retract", () => cases.retract(platform, aiSdkOpenai));
test("@ai-sdk/openai chat | random cuts", () => cases.randomCuts(platform, aiSdkOpenai));

test("@ai-sdk/openai-compatible | plain", () => cases.plain(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | tools", () => cases.tools(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | reasoning", () => cases.reasoning(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | structured", () => cases.structured(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | cancel", () => cases.cancel(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | failure", () => cases.failure(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | observe", () => cases.observe(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | gate", () => cases.gate(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | retract", () => cases.retract(platform, aiSdkCompatible));
test("@ai-sdk/openai-compatible | random cuts", () => cases.randomCuts(platform, aiSdkCompatible));

test("@ai-sdk/openai responses | plain", () => cases.plain(platform, aiSdkResponses));
test("@ai-sdk/openai responses | tools", () => cases.tools(platform, aiSdkResponses));
test("@ai-sdk/openai responses | reasoning", () => cases.reasoning(platform, aiSdkResponses));
test("@ai-sdk/openai responses | structured", () => cases.structured(platform, aiSdkResponses));
test("@ai-sdk/openai responses | cancel", () => cases.cancel(platform, aiSdkResponses));
test("@ai-sdk/openai responses | failure", () => cases.failure(platform, aiSdkResponses));
test("@ai-sdk/openai responses | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, aiSdkResponses));
test("@ai-sdk/openai responses | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, aiSdkResponses));
test("@ai-sdk/openai responses | observe", () => cases.observe(platform, aiSdkResponses));
test("@ai-sdk/openai responses | gate", () => cases.gate(platform, aiSdkResponses));
test("@ai-sdk/openai responses | retract", () => cases.retract(platform, aiSdkResponses));
test("@ai-sdk/openai responses | random cuts", () => cases.randomCuts(platform, aiSdkResponses));

test("a second step of @ai-sdk/openai refers to items of the first by their ids, and has the answer of its tool", async () => {
  const sent: { input: { type?: string }[] }[] = [];
  const openai = createOpenAI({
    baseURL: `${platform.url}/v1`,
    apiKey: platform.key(),
    fetch(url, init) {
      const body = JSON.parse(init?.body as string) as (typeof sent)[number];
      const { options } = sent.push(body) === 1 ? CALLING : REASONING;
      return fetch(url, { ...init, body: JSON.stringify({ ...body, options }) });
    },
  });
  const { text, steps } = await generateText({
    model: openai.responses("sim"),
    prompt: "Say it.",
    stopWhen: isStepCount(2),
    tools: { look_up: tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "found" }) },
  });
  expect([text, steps.length]).toEqual([REASONING.text, 2]);
  expect(sent[1]?.input.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["item_reference", "function_call", "function_call_output"]),
  );
});
