import { createReprise, toUIMessageStreamResponse } from "@reprise/ai-sdk";
import { createClient } from "@reprise/client";
import { createSeededRandom } from "@reprise/testkit";
import {
  generateText,
  jsonSchema,
  Output,
  readUIMessageStream,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Platform, startPlatform } from "./testing/platform.ts";
import {
  CALLED,
  CALLING,
  FAILING,
  REASONED,
  REASONING,
  type Script,
  STORY,
  STRUCTURED,
  WEATHER,
} from "./testing/sim.ts";

const optionsOf = ({ options }: Script) => options as Record<string, never>;

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

/** Makes calls of the provider with a script of the simulated engine. */
function modelOf() {
  const reprise = createReprise({ baseUrl: platform.url, apiKey: platform.key() });
  return (script: Script) => ({
    model: reprise("sim"),
    prompt: "Say it.",
    maxRetries: 0,
    providerOptions: { reprise: { options: optionsOf(script) } },
  });
}

const lookUp = () =>
  tool({
    description: "Looks a word up.",
    inputSchema: jsonSchema<typeof CALLED>({ type: "object" }),
    execute: async ({ call }) => `found ${call}`,
  });

/** Reads the chunks of a response, and whether `[DONE]` followed them. */
async function read(
  response: Response,
): Promise<{ chunks: UIMessageChunk[]; isDone: boolean; lines: string[] }> {
  const lines = (await response.text()).split("\n\n").filter((line) => line !== "");
  const said = lines.map((line) => line.replace(/^data: /, ""));
  const isDone = said.at(-1) === "[DONE]";
  return {
    lines,
    isDone,
    chunks: said.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as UIMessageChunk),
  };
}

async function messageOf(chunks: readonly UIMessageChunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last;
}

const textOf = (message: UIMessage | undefined) =>
  (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");

test("@reprise/ai-sdk | streamText through cuts: the whole text, one run, usage", async () => {
  const call = modelOf();
  const before = { cuts: platform.cuts, runs: await platform.runs() };
  platform.cutNext(createSeededRandom(11), { count: 3 });
  const result = streamText(call(STORY));
  let text = "";
  for await (const delta of result.textStream) text += delta;
  expect(text).toBe(STORY.text);
  expect(await result.finishReason).toBe("stop");
  expect((await result.usage).outputTokens).toBe(150);
  expect(await platform.generations()).toContain((await result.response).id);
  expect(platform.cuts).toBeGreaterThan(before.cuts);
  expect((await platform.runs()) - before.runs).toBe(1);
});

test("@reprise/ai-sdk | generateText: reasoning, structured output, tools, a failure", async () => {
  const call = modelOf();
  const reasoned = await generateText(call(REASONING));
  expect([reasoned.text, reasoned.reasoningText]).toEqual([REASONING.text, REASONED]);

  const schema = jsonSchema<typeof WEATHER>({ type: "object" });
  const structured = await generateText({ ...call(STRUCTURED), output: Output.object({ schema }) });
  expect(structured.output).toEqual(WEATHER);

  const called = await generateText({
    ...call(CALLING),
    tools: { look_up: lookUp() },
    stopWhen: stepCountIs(2),
  });
  expect(called.steps[0]?.toolCalls).toMatchObject([{ toolName: "look_up", input: CALLED }]);
  expect(called.steps[0]?.toolResults).toMatchObject([{ output: "found 0" }]);
  expect(called.steps).toHaveLength(2);

  await expect(generateText(call(FAILING))).rejects.toMatchObject({ code: "engine_failed" });
});

test("@reprise/ai-sdk | a route handler's response has the whole message, and resumes from any chunk", async () => {
  const { generations } = createClient({ url: platform.url, apiKey: platform.key() });
  const { id, created_at: createdAt } = await generations.create({
    model: "sim",
    input: "Say it.",
    options: optionsOf(STORY),
  });
  platform.cutNow();
  const { cuts } = platform;
  platform.cutNext(createSeededRandom(12), { count: 3 });
  const response = toUIMessageStreamResponse(generations.stream(id), { createdAt });
  expect(response.headers.get("x-workflow-run-id")).toBe(id);
  expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  const whole = await read(response);
  expect(whole.isDone).toBe(true);
  expect(textOf(await messageOf(whole.chunks))).toBe(STORY.text);
  expect(platform.cuts).toBeGreaterThan(cuts);
  for (const startIndex of [1, 7, whole.chunks.length - 1, whole.chunks.length + 5]) {
    const rest = await read(toUIMessageStreamResponse(generations.stream(id), { createdAt, startIndex }));
    expect(rest.lines).toEqual(whole.lines.slice(Math.min(startIndex, whole.chunks.length)));
  }
});
