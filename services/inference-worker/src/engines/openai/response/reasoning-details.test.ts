import { LIMITS } from "@reprise/protocol";
import { expect, test } from "vitest";
import { readChat } from "../../testing/read-chat.ts";
import { delta, DONE, finish, frame } from "../../testing/chat-frames.ts";
import { toReasoningDetails } from "./reasoning-details.ts";

const read = async (...frames: readonly string[]) => (await readChat(frames)).events;

const summary = (text: string) => ({ reasoning_details: [{ type: "reasoning.summary", summary: text }] });

test("a piece of a summary counts as one token where its engine does not count, in a run that never finishes too", async () => {
  const events = await read(
    delta(summary("a")),
    delta(summary("b")),
    delta({ content: "c" }),
    finish(),
    DONE,
  );
  expect(events.slice(0, 2)).toEqual([
    { type: "summary", text: "a" },
    { type: "summary", text: "b" },
  ]);
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 3 } });
});

test("a piece of a summary has the tokens that its engine has counted when it came, and what is sealed leaves them to the next", async () => {
  const counted = (fields: object, tokens: number) =>
    frame({ choices: [{ index: 0, delta: fields }], usage: { prompt_tokens: 9, completion_tokens: tokens } });
  const sealed = { reasoning_details: [{ type: "reasoning.encrypted", data: "x" }] };
  const events = await read(
    counted(summary("a"), 40),
    counted(sealed, 50),
    counted({ content: "b" }, 52),
    finish(),
    DONE,
  );
  expect(events).toMatchObject([
    { type: "summary", text: "a", tokens: 40 },
    { type: "sealed", encrypted: "x" },
    { type: "text", text: "b", tokens: 12 },
    { type: "finish", usage: { output_tokens: 52 } },
  ]);
});

test.each([LIMITS.toolCallIdLength, LIMITS.toolCallIdLength + 1])(
  "a sealed item's id of %i characters is kept as far as a request can hand it back",
  (length) => {
    const id = "x".repeat(length);
    const { thoughts } = toReasoningDetails([{ type: "reasoning.encrypted", data: "c2VhbGVk", id }], "");
    const kept = length <= LIMITS.toolCallIdLength ? { id } : {};
    expect(thoughts).toEqual([{ type: "sealed", encrypted: "c2VhbGVk", ...kept }]);
  },
);
