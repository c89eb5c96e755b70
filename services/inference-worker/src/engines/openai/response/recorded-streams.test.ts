import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { collect } from "../../testing/collect.ts";
import { answerOf } from "../../testing/answer-of.ts";
import { readChatStream } from "./chat-stream.ts";

/*
 * What each model server sends, and what becomes of it. The service's README says which of these were recorded, and which are written by
 * hand in the form that each server is known to send (`events-table.test.ts`).
 */

const FOLDER = new URL("../streams/", import.meta.url);

interface Expected {
  text: string;
  reasoning?: string;
  refusal?: string;
  /** Summaries and sealed reasoning. */
  thoughts?: object[];
  sources?: object[];
  calls?: string[];
  /** Its reason and usage; absent for an answer that has failed. */
  end?: [reason: string, input: number | null, output: number];
  /** The number of audio tokens in the input and in the output. */
  audio?: [input: number, output: number];
  /** The media, piece by piece: the bytes in hex, and true for the last piece of a content. */
  media?: [kind: string, type: string, hex: string, isLast: boolean][];
  /** The retry class of a failure, and the text in the worker's log. */
  failure?: { retry: string; said?: string };
  leftOut?: string[];
  /** By the server's own count, which pieces it makes of it. */
  counts?: number[];
  /** Where log probabilities are asked for. */
  logprobs?: object[];
}

const LLAMA_REASONING = " were now most go here other go most way";

const STREAMS: Record<string, Expected> = {
  openai: { text: "Hello.", end: ["stop", 9, 2] },
  "openai-refusal": { text: "", refusal: "I'm sorry, I can't.", end: ["content_filter", 9, 7] },
  "openai-tools": { text: "", calls: ["look_up"], end: ["tool_calls", 9, 5] },
  "openai-error": {
    text: "Hel",
    failure: {
      retry: "broken",
      said: "server error The server had an error while processing your request It …",
    },
  },
  "openai-annotations": {
    text: "Hello.",
    end: ["stop", 9, 2],
    sources: [
      { kind: "url", from: 0, to: 5, url: "http://example.test", title: "a", quote: "It says hello." },
      { kind: "url", url: "http://example.test/b" },
    ],
    leftOut: ["annotations"],
  },
  "openai-file-citation": {
    text: "Hello.",
    end: ["stop", 9, 2],
    sources: [{ kind: "file", from: 0, to: 5, file: "file-1", name: "a.pdf", quote: "Hello" }],
  },
  "gateway-search": {
    text: "Hello.",
    end: ["stop", 9, 2],
    sources: [
      { kind: "url", url: "http://example.test/a", title: "A" },
      { kind: "url", url: "http://example.test/b" },
    ],
  },
  "gateway-reasoning-details": {
    text: "Hello.",
    reasoning: "Hm.",
    thoughts: [
      { type: "summary", text: "Greets", isReasoning: true },
      { type: "summary", text: " back.", part: 1 },
      { type: "sealed", encrypted: "c2VhbGVk", id: "rs_1" },
    ],
    end: ["stop", 9, 6],
  },
  "openai-audio": {
    text: "Hello.",
    end: ["stop", 9, 2],
    audio: [4, 1],
    media: [
      ["audio", "audio/pcm", "52494646", false],
      ["audio", "audio/pcm", "0102", false],
      ["audio", "audio/pcm", "", true],
    ],
  },
  "gateway-images": {
    text: "Here.",
    end: ["stop", 9, 2],
    media: [["image", "image/png", "89504e470d0a1a0a", true]],
    leftOut: ["images"],
  },
  vllm: { text: "Hello.", reasoning: "Hm.", end: ["stop", 9, 7], counts: [2, 2, 2] },
  "vllm-error": {
    text: "Hel",
    failure: { retry: "broken", said: "Internal Server Error Engine … an … while it …" },
  },
  "vllm-abort": { text: "Hel", failure: { retry: "broken" } },
  sglang: { text: "Hello.", reasoning: "Hm.", end: ["stop", 9, 6], counts: [2, 3] },
  "sglang-abort": { text: "Hel", failure: { retry: "broken" } },
  "sglang-error": {
    text: "Hel",
    failure: { retry: "never", said: "Bad Request Error The request is aborted …" },
  },
  "llama.cpp": { text: " for your while on", end: ["length", 21, 4], counts: [1, 1, 1, 1] },
  "llama.cpp-thinking": { text: "", reasoning: LLAMA_REASONING, end: ["length", 28, 14] },
  "llama.cpp-logprobs": {
    text: " for your",
    end: ["length", 21, 2],
    leftOut: ["logprobs", "logprobs"],
    logprobs: [
      { token: " for", logprob: -3.0177738666534424, top: [{ token: " for", logprob: -3.0177738666534424 }] },
      { token: " your", logprob: -3.026536226272583, top: [{ token: " your", logprob: -3.026536226272583 }] },
    ],
  },
  "llama.cpp-error": {
    text: "Hel",
    failure: { retry: "broken", said: "server error Failed to parse input at …" },
  },
  tgi: { text: "Hello.", end: ["stop", 9, 3] },
  "tgi-error": {
    text: "Hel",
    failure: { retry: "broken", said: "generation Request failed … generation Server error …" },
  },
  ollama: { text: "Hello.", reasoning: "Hm.", end: ["stop", 9, 5] },
  "ollama-tools": { text: "", calls: ["look_up"], end: ["tool_calls", 9, 5] },
  "ollama-error": {
    text: "Hel",
    failure: { retry: "broken", said: `api error an error was … while running the model …` },
  },
  "ollama-unload": { text: "", failure: { retry: "broken" } },
  "lm-studio": { text: "Hello.", reasoning: "Hm.", end: ["stop", 9, 5] },
  "lm-studio-error": { text: "Hel", failure: { retry: "broken", said: "The model has crashed without …" } },
  mistral: {
    text: "Hello.",
    reasoning: "Hm. So.",
    end: ["stop", 9, 6],
    sources: [{ kind: "file", file: "1" }],
  },
  "mistral-error": {
    text: "Hel",
    failure: { retry: "broken", said: "service … capacity exceeded … Service … capacity exceeded for …" },
  },
  "mistral-finish-error": { text: "Hel", failure: { retry: "broken" } },
};

async function read(name: string, topLogprobs?: number) {
  const bytes = readFileSync(new URL(`${name}.sse`, FOLDER));
  const leftOut: string[] = [];
  async function* body() {
    yield bytes;
  }
  const { signal } = new AbortController();
  const onLeftOut = (part: string) => void leftOut.push(part);
  return {
    ...(await collect(
      readChatStream(answerOf(body()), { signal, producedTokens: 0, topLogprobs, onLeftOut }),
    )),
    leftOut,
  };
}

describe("a recorded stream", () => {
  test.each(Object.entries(STREAMS))("of %s", async (name, expected) => {
    const { text, events, error, leftOut } = await read(name);
    const { reasoning = "", calls = [], end, failure, counts } = expected;
    expect(text).toBe(expected.text);
    expect(events.map((event) => (event.type === "reasoning" ? event.text : "")).join("")).toBe(reasoning);
    const joined = events.map((event) => (event.type === "refusal" ? event.text : "")).join("");
    expect(joined).toBe(expected.refusal ?? "");
    const thoughts = events.filter(({ type }) => type === "summary" || type === "sealed");
    expect(thoughts).toEqual(expected.thoughts ?? []);
    const sources = (expected.sources ?? []).map((source) => ({ type: "annotation", ...source }));
    expect(events.filter(({ type }) => type === "annotation")).toEqual(sources);
    expect(events.flatMap((event) => (event.type === "tool_call" ? event.name : []))).toEqual(calls);
    const made = events.flatMap((event) =>
      event.type === "media"
        ? [[event.kind, event.mediaType, Buffer.from(event.bytes).toString("hex"), event.isLast]]
        : [],
    );
    expect(made).toEqual(expected.media ?? []);
    expect(leftOut).toEqual(expected.leftOut ?? []);
    const said = events.filter((event) => event.type === "text" || event.type === "reasoning");
    expect(said.map(({ tokens = 1 }) => tokens)).toEqual(counts ?? said.map(() => 1));
    const last = events.at(-1);
    const reported =
      last?.type === "finish"
        ? [last.reason, last.usage?.input_tokens, last.usage?.output_tokens]
        : undefined;
    expect(reported).toEqual(end);
    const usage = last?.type === "finish" ? last.usage : undefined;
    expect([usage?.audio_input_tokens, usage?.audio_output_tokens]).toEqual(
      expected.audio ?? [undefined, undefined],
    );
    expect(error === undefined).toBe(failure === undefined);
    expect(error ?? {}).toMatchObject({ ...failure });
  });

  test.each(Object.entries(STREAMS))(
    "of %s has the log probabilities that were asked for",
    async (name, expected) => {
      const { events, leftOut } = await read(name, 1);
      const likely = events.flatMap((event) => (event.type === "text" ? (event.logprobs ?? []) : []));
      expect(likely).toEqual(expected.logprobs ?? []);
      expect(leftOut).toEqual((expected.leftOut ?? []).filter((part) => part !== "logprobs"));
    },
  );

  test("is read for every file that there is", () => {
    const files = readdirSync(FOLDER).map((file) => file.replace(/\.sse$/, ""));
    expect(files.toSorted()).toEqual(Object.keys(STREAMS).toSorted());
  });

  test("never passes on the model's text that a failed engine quotes", async () => {
    const failed = Object.entries(STREAMS).filter(([, { failure }]) => failure);
    const errors = await Promise.all(failed.map(async ([name]) => (await read(name)).error));
    for (const error of errors) {
      expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toMatch(/falcon/i);
    }
  });
});
