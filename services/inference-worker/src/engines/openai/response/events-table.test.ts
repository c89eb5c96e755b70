import { readdirSync, readFileSync } from "node:fs";
import { DIALECTS } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../../engine.ts";
import { answerOf } from "../../testing/answer-of.ts";
import { collect } from "../../testing/collect.ts";
import { readChatStream } from "./chat-stream.ts";

const FOLDER = new URL("../streams/", import.meta.url);
const README = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");

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

interface Stream {
  readonly name: string;
  readonly column: string;
  /** The resulting events, each once, in the order of their first occurrence. */
  readonly gives: readonly EventName[];
  /** The finish reason of a complete answer. */
  readonly reason: string | undefined;
}

async function read(name: string): Promise<Stream> {
  async function* body() {
    yield readFileSync(new URL(`${name}.sse`, FOLDER));
  }
  const options = { signal: new AbortController().signal, producedTokens: 0, topLogprobs: 1 };
  const { events, error } = await collect(readChatStream(answerOf(body()), options));
  const given = events.flatMap((event): EventName[] => {
    const hasLogprobs = event.type === "text" && event.logprobs !== undefined;
    return hasLogprobs ? ["output.delta", "logprobs of output.delta"] : [NAMES[event.type]];
  });
  const last = events.at(-1);
  return {
    name,
    column: COLUMNS.find((column) => name === column || name.startsWith(`${column}-`)) ?? "",
    gives: [...new Set([...given, ...(error === undefined ? [] : ["generation.failed" as const])])],
    reason: last?.type === "finish" ? last.reason : undefined,
  };
}

const STREAMS = await Promise.all(
  readdirSync(FOLDER)
    .map((file) => file.replace(/\.sse$/, ""))
    .toSorted()
    .map(read),
);

const provenanceOf = ({ name }: Stream) => (RECORDED.has(name) ? "recorded" : "written");

/** The kind of the best stream that shows the event. */
function cellOf(event: EventName, column: string): string {
  const shown = STREAMS.filter((stream) => stream.column === column && stream.gives.includes(event));
  const kinds = new Set(shown.map(provenanceOf));
  return kinds.has("recorded") ? "recorded" : kinds.has("written") ? "written" : "–";
}

/** The events of each stream, each once in the order of their first occurrence, and the finish reason. */
const GIVES: Readonly<Record<string, string>> = {
  "gateway-images": "output.delta, output.blob, generation.completed: stop",
  "gateway-reasoning-details":
    "reasoning.summary.delta, reasoning.delta, reasoning.sealed, output.delta, generation.completed: stop",
  "gateway-search": "output.delta, output.annotation, generation.completed: stop",
  "llama.cpp": "output.delta, generation.completed: length",
  "llama.cpp-error": "output.delta, generation.failed",
  "llama.cpp-logprobs": "output.delta, logprobs of output.delta, generation.completed: length",
  "llama.cpp-thinking": "reasoning.delta, generation.completed: length",
  "lm-studio": "reasoning.delta, output.delta, generation.completed: stop",
  "lm-studio-error": "output.delta, generation.failed",
  mistral: "reasoning.delta, output.delta, output.annotation, generation.completed: stop",
  "mistral-error": "output.delta, generation.failed",
  "mistral-finish-error": "output.delta, generation.failed",
  ollama: "reasoning.delta, output.delta, generation.completed: stop",
  "ollama-error": "output.delta, generation.failed",
  "ollama-tools": "tool.call, generation.completed: tool_calls",
  "ollama-unload": "generation.failed",
  openai: "output.delta, generation.completed: stop",
  "openai-annotations": "output.delta, output.annotation, generation.completed: stop",
  "openai-audio": "output.delta, output.blob, generation.completed: stop",
  "openai-error": "output.delta, generation.failed",
  "openai-file-citation": "output.delta, output.annotation, generation.completed: stop",
  "openai-refusal": "refusal.delta, generation.completed: content_filter",
  "openai-tools": "tool.call, generation.completed: tool_calls",
  sglang: "reasoning.delta, output.delta, generation.completed: stop",
  "sglang-abort": "output.delta, generation.failed",
  "sglang-error": "output.delta, generation.failed",
  tgi: "output.delta, generation.completed: stop",
  "tgi-error": "output.delta, generation.failed",
  vllm: "reasoning.delta, output.delta, generation.completed: stop",
  "vllm-abort": "output.delta, generation.failed",
  "vllm-error": "output.delta, generation.failed",
};

const toTable = (...rows: readonly (readonly string[])[]) => {
  const [head = [], ...others] = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `|${"---|".repeat(rows[0]?.length ?? 0)}`, ...others].join("\n");
};

describe("the README's table of events", () => {
  test("says of every event which dialects' streams give it, and whether one of these was recorded", () => {
    const rows = EVENTS.map((event) => [`\`${event}\``, ...COLUMNS.map((column) => cellOf(event, column))]);
    expect(README).toContain(toTable(["event", ...COLUMNS], ...rows));
  });
});

describe("the recorded and written streams", () => {
  test("give the events of the table for every stream", () => {
    const given = STREAMS.map(({ name, gives, reason }) => {
      const events = gives.map((event) => (event === "generation.completed" ? `${event}: ${reason}` : event));
      return [name, events.join(", ")];
    });
    expect(Object.fromEntries(given)).toEqual(GIVES);
  });

  test("have a column each", () => {
    expect(STREAMS.filter(({ column }) => column === "").map(({ name }) => name)).toEqual([]);
    const names = new Set(STREAMS.map(({ name }) => name));
    expect([...RECORDED].filter((name) => !names.has(name))).toEqual([]);
  });
});
