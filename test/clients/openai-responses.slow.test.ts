import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as cases from "./testing/cases.ts";
import { responsesBackground, responsesHelper, responsesStream } from "./testing/openai-responses.ts";
import { type Platform, startPlatform } from "./testing/platform.ts";

/* One platform for all: each test counts its own runs. */
let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ workers: 2, moderation: true });
});
afterAll(() => platform[Symbol.asyncDispose]());

test("openai responses, streamed | plain", () => cases.plain(platform, responsesStream));
test("openai responses, streamed | tools", () => cases.tools(platform, responsesStream));
test("openai responses, streamed | reasoning", () => cases.reasoning(platform, responsesStream));
test("openai responses, streamed | structured", () => cases.structured(platform, responsesStream));
test("openai responses, streamed | cancel", () => cases.cancel(platform, responsesStream));
test("openai responses, streamed | failure", () => cases.failure(platform, responsesStream));
test("openai responses, streamed | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, responsesStream));
test("openai responses, streamed | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, responsesStream));
test("openai responses, streamed | observe", () => cases.observe(platform, responsesStream));
test("openai responses, streamed | gate", () => cases.gate(platform, responsesStream));
test("openai responses, streamed | retract", () => cases.retract(platform, responsesStream));
test("openai responses, streamed | random cuts", () => cases.randomCuts(platform, responsesStream));

test("openai responses .stream() | plain", () => cases.plain(platform, responsesHelper));
test("openai responses .stream() | tools", () => cases.tools(platform, responsesHelper));
test("openai responses .stream() | reasoning", () => cases.reasoning(platform, responsesHelper));
test("openai responses .stream() | structured", () => cases.structured(platform, responsesHelper));
test("openai responses .stream() | cancel", () => cases.cancel(platform, responsesHelper));
test("openai responses .stream() | failure", () => cases.failure(platform, responsesHelper));
test("openai responses .stream() | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, responsesHelper));
test("openai responses .stream() | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, responsesHelper));
test("openai responses .stream() | observe", () => cases.observe(platform, responsesHelper));
test("openai responses .stream() | gate", () => cases.gate(platform, responsesHelper));
test("openai responses .stream() | retract", () => cases.retract(platform, responsesHelper));
test("openai responses .stream() | random cuts", () => cases.randomCuts(platform, responsesHelper));

test("openai responses, background | plain", () => cases.plain(platform, responsesBackground));
test("openai responses, background | tools", () => cases.tools(platform, responsesBackground));
test("openai responses, background | reasoning", () => cases.reasoning(platform, responsesBackground));
test("openai responses, background | structured", () => cases.structured(platform, responsesBackground));
test("openai responses, background | cancel", () => cases.cancel(platform, responsesBackground));
test("openai responses, background | failure", () => cases.failure(platform, responsesBackground));
test("openai responses, background | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, responsesBackground));
test("openai responses, background | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, responsesBackground));
test("openai responses, background | observe", () => cases.observe(platform, responsesBackground));
test("openai responses, background | gate", () => cases.gate(platform, responsesBackground));
test("openai responses, background | retract", () => cases.retract(platform, responsesBackground));
test("openai responses, background | random cuts", () => cases.randomCuts(platform, responsesBackground));

test("the openai package lists what a response was asked, and deletes it", async () => {
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
  "the openai package sends a request for responses again whose answer was lost before its head, and joins its run: %s",
  (_, client) => cases.lostHead(platform, client),
);
