import { MAX_LOGPROBS_SIZE } from "@reprise/protocol";
import { expect, test } from "vitest";
import { DONE, finish, frame } from "../../testing/chat-frames.ts";
import { readChat } from "../../testing/read-chat.ts";

const token = (text: string, logprob = -1, fields: object = {}) => ({ token: text, logprob, ...fields });
const chunk = (delta: object, content: unknown) =>
  frame({ choices: [{ index: 0, delta, logprobs: { content } }] });

async function read(frames: readonly string[], topLogprobs?: number) {
  const { events, leftOut } = await readChat(frames, { topLogprobs });
  const texts = events.flatMap((event) =>
    event.type === "text" ? [{ text: event.text, logprobs: event.logprobs }] : [],
  );
  return { texts, leftOut, events };
}

test("log probabilities are beside the text that they came with, with no more others than were asked for", async () => {
  const top = [token("Hel", -0.1), token("Hi", -2)];
  const frames = [
    chunk({ content: "Hello" }, [token("Hel", -0.1, { top_logprobs: top }), token("lo", -0.2)]),
    finish(),
    DONE,
  ];
  const [first, second] = [token("Hel", -0.1), token("lo", -0.2)];
  expect((await read(frames, 1)).texts).toEqual([
    { text: "Hello", logprobs: [{ ...first, top: [token("Hel", -0.1)] }, second] },
  ]);
  expect((await read(frames, 0)).texts).toEqual([{ text: "Hello", logprobs: [first, second] }]);
});

test("that were not asked for are left out, and said to be", async () => {
  const { texts, leftOut } = await read([chunk({ content: "a" }, [token("a")]), finish(), DONE]);
  expect([texts, leftOut]).toEqual([[{ text: "a", logprobs: undefined }], ["logprobs"]]);
});

test("bytes are given where a token is no text by itself", async () => {
  const tokens = [
    token("a", -1, { bytes: [97] }),
    token("\uFFFD", -1, { bytes: [140] }),
    token("b", -1, { bytes: null }),
  ];
  const { texts } = await read([chunk({ content: "a\uFFFDb" }, tokens), finish(), DONE], 0);
  expect(texts[0]?.logprobs).toEqual([token("a"), token("\uFFFD", -1, { bytes: [140] }), token("b")]);
});

test("those of a chunk without text are of the next text; those after the last text are of none", async () => {
  const frames = [
    chunk({ content: "" }, [token("\uFFFD", -1)]),
    chunk({ content: "é" }, [token("\uFFFD", -2)]),
    chunk({}, [token("</s>")]),
    finish(),
    DONE,
  ];
  expect((await read(frames, 0)).texts).toEqual([
    { text: "é", logprobs: [token("\uFFFD", -1), token("\uFFFD", -2)] },
  ]);
});

test("those of reasoning, of a refusal and of calls are not told as the text's", async () => {
  const call = { index: 0, id: "c", function: { name: "f", arguments: "{}" } };
  const frames = [
    chunk({ reasoning: "Hm." }, [token("Hm.")]),
    chunk({ refusal: "No." }, [token("No.")]),
    chunk({ tool_calls: [call] }, [token("{}")]),
    chunk({ content: "a" }, [token("a")]),
    finish(),
    DONE,
  ];
  expect((await read(frames, 0)).texts).toEqual([{ text: "a", logprobs: [token("a")] }]);
});

test.each([
  ["no number", [{ token: "a", logprob: "-1" }]],
  ["no token", [{ logprob: -1 }]],
  ["a token of 1,025 characters", [token("x".repeat(1_025))]],
  ["no list", "a"],
  ["more than an event holds", Array.from({ length: MAX_LOGPROBS_SIZE / 64 }, () => token("a"))],
])("with %s the text counts, and the rest is said to be left out", async (_what, content) => {
  const frames = [chunk({ content: "a" }, content), chunk({ content: "b" }, [token("b")]), finish(), DONE];
  const { texts, leftOut } = await read(frames, 0);
  expect(texts).toEqual([
    { text: "a", logprobs: undefined },
    { text: "b", logprobs: [token("b")] },
  ]);
  expect(leftOut).toEqual(["logprobs"]);
});
