import { afterAll, beforeAll, test } from "vitest";
import * as cases from "./testing/cases.ts";
import { openaiStream, openaiHelper, openaiBody } from "./testing/openai-chat.ts";
import { type Platform, startPlatform } from "./testing/platform.ts";

/* One platform for all: each test counts its own runs. */
let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ workers: 2, moderation: true });
});
afterAll(() => platform[Symbol.asyncDispose]());

test("openai create, streamed | plain", () => cases.plain(platform, openaiStream));
test("openai create, streamed | tools", () => cases.tools(platform, openaiStream));
test("openai create, streamed | reasoning", () => cases.reasoning(platform, openaiStream));
test("openai create, streamed | structured", () => cases.structured(platform, openaiStream));
test("openai create, streamed | cancel", () => cases.cancel(platform, openaiStream));
test("openai create, streamed | failure", () => cases.failure(platform, openaiStream));
test("openai create, streamed | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, openaiStream));
test("openai create, streamed | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, openaiStream));
test("openai create, streamed | observe", () => cases.observe(platform, openaiStream));
test("openai create, streamed | gate", () => cases.gate(platform, openaiStream));
test("openai create, streamed | retract", () => cases.retract(platform, openaiStream));
test("openai create, streamed | random cuts", () => cases.randomCuts(platform, openaiStream));

test("openai .stream() | plain", () => cases.plain(platform, openaiHelper));
test("openai .stream() | tools", () => cases.tools(platform, openaiHelper));
test("openai .stream() | structured", () => cases.structured(platform, openaiHelper));
test("openai .stream() | cancel", () => cases.cancel(platform, openaiHelper));
test("openai .stream() | failure", () => cases.failure(platform, openaiHelper));
test("openai .stream() | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, openaiHelper));
test("openai .stream() | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, openaiHelper));
test("openai .stream() | observe", () => cases.observe(platform, openaiHelper));
test("openai .stream() | gate", () => cases.gate(platform, openaiHelper));
test("openai .stream() | retract", () => cases.retract(platform, openaiHelper));
test("openai .stream() | random cuts", () => cases.randomCuts(platform, openaiHelper));

test("openai create, one body | plain", () => cases.plain(platform, openaiBody));
test("openai create, one body | tools", () => cases.tools(platform, openaiBody));
test("openai create, one body | reasoning", () => cases.reasoning(platform, openaiBody));
test("openai create, one body | structured", () => cases.structured(platform, openaiBody));
test("openai create, one body | cancel", () => cases.cancel(platform, openaiBody));
test("openai create, one body | failure", () => cases.failure(platform, openaiBody));
test("openai create, one body | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, openaiBody));
test("openai create, one body | takeover without continuation", () =>
  cases.takeoverWithoutContinuation(platform, openaiBody));
test("openai create, one body | observe", () => cases.observe(platform, openaiBody));
test("openai create, one body | gate", () => cases.gate(platform, openaiBody));
test("openai create, one body | retract", () => cases.retract(platform, openaiBody));
test("openai create, one body | random cuts", () => cases.randomCuts(platform, openaiBody));

test.each([
  ["a stream", openaiStream],
  [".stream()", openaiHelper],
  ["one body", openaiBody],
])(
  "the openai package sends a request for chat completions again whose answer was lost before its head, and joins its run: %s",
  (_, client) => cases.lostHead(platform, client),
);
