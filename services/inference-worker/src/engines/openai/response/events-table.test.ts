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

const toTable = (...rows: readonly (readonly string[])[]) => {
  const [head = [], ...others] = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `|${"---|".repeat(rows[0]?.length ?? 0)}`, ...others].join("\n");
};

describe("the README's tables of events", () => {
  test("say of every event which dialects' streams give it, and whether one of these was recorded", () => {
    const rows = EVENTS.map((event) => [`\`${event}\``, ...COLUMNS.map((column) => cellOf(event, column))]);
    expect(README).toContain(toTable(["event", ...COLUMNS], ...rows));
  });

  test("say of every stream whether it was recorded, and what it gives", () => {
    const rows = STREAMS.map((stream) => {
      const { name, gives, reason } = stream;
      const cells = gives.map((event) =>
        event === "generation.completed" ? `\`${event}\` (\`${reason}\`)` : `\`${event}\``,
      );
      return [`\`${name}\``, provenanceOf(stream), cells.join(", ")];
    });
    expect(README).toContain(toTable(["stream", "is", "gives"], ...rows));
  });

  test("have every stream in a column", () => {
    expect(STREAMS.filter(({ column }) => column === "").map(({ name }) => name)).toEqual([]);
    const names = new Set(STREAMS.map(({ name }) => name));
    expect([...RECORDED].filter((name) => !names.has(name))).toEqual([]);
  });
});
