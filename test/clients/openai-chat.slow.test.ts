import { afterAll, test } from "vitest";
import { lostHead, runCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { openaiBody, openaiHelper, openaiStream } from "./testing/openai-chat.ts";
import { startPlatform } from "./testing/platform.ts";

/* One platform for all tests: each counts its own runs. */
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

testCells("openai create, streamed", (name) => runCase(name, platform, openaiStream));
testCells("openai .stream()", (name) => runCase(name, platform, openaiHelper));
testCells("openai create, one body", (name) => runCase(name, platform, openaiBody));

test.each([
  ["a stream", openaiStream],
  [".stream()", openaiHelper],
  ["one body", openaiBody],
])(
  "the openai package retries a chat completion that was lost before its head, and joins its run: %s",
  (_, client) => lostHead(platform, client),
);
