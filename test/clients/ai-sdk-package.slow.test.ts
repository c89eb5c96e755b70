import { createReprise } from "@reprise/ai-sdk";
import { createSeededRandom } from "@reprise/testkit";
import { streamText } from "ai";
import { afterAll, expect, test } from "vitest";
import { startPlatform } from "./testing/platform.ts";
import { STORY } from "./testing/sim.ts";

const platform = await startPlatform();
afterAll(() => platform[Symbol.asyncDispose]());

test("streamText with @reprise/ai-sdk reads the whole text of one run through cuts", async () => {
  const reprise = createReprise({ baseUrl: platform.url, apiKey: platform.key() });
  platform.cutNext(createSeededRandom(11), { count: 3 });
  const result = streamText({
    model: reprise("sim"),
    prompt: "Say it.",
    maxRetries: 0,
    providerOptions: { reprise: { options: STORY.options as Record<string, never> } },
  });
  let text = "";
  for await (const delta of result.textStream) text += delta;
  expect(text).toBe(STORY.text);
  expect(await result.finishReason).toBe("stop");
  expect((await result.usage).outputTokens).toBe(150);
  expect(platform.cuts).toBeGreaterThan(0);
  expect(await platform.runs()).toBe(1);
});
