import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { afterAll, expect, test } from "vitest";
import { runCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { aiSdkCompatible, aiSdkOpenai, aiSdkResponses } from "./testing/ai-sdk.ts";
import { startPlatform } from "./testing/platform.ts";
import { CALLING, REASONING } from "./testing/sim.ts";

/* One platform for all tests: each counts its own runs. */
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

testCells("@ai-sdk/openai chat", (name) => runCase(name, platform, aiSdkOpenai));
testCells("@ai-sdk/openai-compatible", (name) => runCase(name, platform, aiSdkCompatible));
testCells("@ai-sdk/openai responses", (name) => runCase(name, platform, aiSdkResponses));

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
