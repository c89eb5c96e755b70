import { readdirSync, readFileSync } from "node:fs";
import { DIALECTS } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../../engine.ts";
import { readChat } from "../../testing/read-chat.ts";

/*
 * The streams of each model server, and the events that they become. The service's README says which of these were recorded, and which are written by
 * hand in the form that each server is known to send.
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

const FILES = readdirSync(FOLDER)
  .map((file) => file.replace(/\.sse$/, ""))
  .toSorted();

const read = (name: string, topLogprobs?: number) =>
  readChat([readFileSync(new URL(`${name}.sse`, FOLDER))], { topLogprobs });

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

  test("is read for every file that there is", () => {
    expect(FILES).toEqual(Object.keys(STREAMS).toSorted());
  });

  test("never passes on the model's text that a failed engine quotes", async () => {
    const failed = Object.entries(STREAMS).filter(([, { failure }]) => failure);
    const errors = await Promise.all(failed.map(async ([name]) => (await read(name)).error));
    for (const error of errors) {
      expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toMatch(/falcon/i);
    }
  });
});

/** From llama.cpp 0.7.0. No other server has been run for one: the others are written in the form that each is known to send. */
const RECORDED: ReadonlySet<string> = new Set(["llama.cpp", "llama.cpp-thinking", "llama.cpp-logprobs"]);

/** The servers of each dialect, and the gateways to other servers, which speak OpenAI's. */
const COLUMNS = [...DIALECTS, "gateway"];

const EVENTS = [
  "output.delta",
  "logprobs of output.delta",
  "reasoning.delta",
  "refusal.delta",
  "reasoning.summary.delta",
  "reasoning.sealed",
  "output.annotation",
  "output.blob",
  "tool.call",
  "generation.completed",
  "generation.failed",
] as const;
type EventName = (typeof EVENTS)[number];

const NAMES: Readonly<Record<EngineEvent["type"], EventName>> = {
  text: "output.delta",
  reasoning: "reasoning.delta",
  refusal: "refusal.delta",
  summary: "reasoning.summary.delta",
  sealed: "reasoning.sealed",
  annotation: "output.annotation",
  media: "output.blob",
  tool_call: "tool.call",
  finish: "generation.completed",
};

/** The events of a stream; a failure is one too. */
async function eventsOf(name: string): Promise<ReadonlySet<EventName>> {
  const { events, error } = await read(name, 1);
  const given = events.flatMap((event): EventName[] => {
    const hasLogprobs = event.type === "text" && event.logprobs !== undefined;
    return hasLogprobs ? ["output.delta", "logprobs of output.delta"] : [NAMES[event.type]];
  });
  return new Set([...given, ...(error === undefined ? [] : ["generation.failed" as const])]);
}

test("the README's table of events says which dialects' streams give each event, and whether one was recorded", async () => {
  const readme = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");
  const streams = await Promise.all(
    FILES.map(async (name) => ({
      name,
      column: COLUMNS.find((column) => name === column || name.startsWith(`${column}-`)),
      events: await eventsOf(name),
    })),
  );
  expect(streams.filter(({ column }) => column === undefined)).toEqual([]);
  const rows = EVENTS.map((event) => {
    const given = streams.filter(({ events }) => events.has(event));
    const recorded = new Set(given.filter(({ name }) => RECORDED.has(name)).map(({ column }) => column));
    const written = new Set(given.map(({ column }) => column)).difference(recorded);
    const listed = [recorded, written].map((columns) =>
      COLUMNS.filter((column) => columns.has(column)).join(", "),
    );
    return [`\`${event}\``, ...listed];
  });
  const [head, ...lines] = [["event", "recorded", "written"], ...rows].map(
    (cells) => `| ${cells.join(" | ")} |`,
  );
  expect(readme).toContain([head, "|---|---|---|", ...lines].join("\n"));
});
