import OpenAI from "openai";
import { afterAll, expect, test } from "vitest";
import { lostHead, runCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { responsesBackground, responsesHelper, responsesStream } from "./testing/openai-responses.ts";
import { startPlatform } from "./testing/platform.ts";

/* One platform for all tests: each counts its own runs. */
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

testCells("openai responses, streamed", (name) => runCase(name, platform, responsesStream));
testCells("openai responses .stream()", (name) => runCase(name, platform, responsesHelper));
testCells("openai responses, background", (name) => runCase(name, platform, responsesBackground));

test("the openai package lists the input items of a response, and deletes it", async () => {
  const client = new OpenAI({ apiKey: platform.key(), baseURL: `${platform.url}/v1` });
  const { id } = await client.responses.create({ model: "sim", input: "Say it." });
  const items = await Array.fromAsync(client.responses.inputItems.list(id));
  expect(items).toMatchObject([{ role: "user", content: [{ type: "input_text", text: "Say it." }] }]);
  await client.responses.delete(id);
});

test.each([
  ["a stream", responsesStream],
  [".stream()", responsesHelper],
  ["background", responsesBackground],
])(
  "the openai package retries a response that was lost before its head, and joins its run: %s",
  (_, client) => lostHead(platform, client),
);
