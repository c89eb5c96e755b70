import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyLog } from "../any-log.fixture.ts";
import {
  delta as text,
  type Draft,
  framesOf,
  itKeepsTheLaws,
  RUN,
  STARTED,
  toLog,
} from "../projection-laws.fixture.ts";
import type { Frame } from "../projection.ts";
import { createUiStream } from "./project.ts";
import type { UiChunk } from "./ui-chunk.ts";

const stream = createUiStream();
const usage = { input_tokens: 3, output_tokens: 5, cached_input_tokens: 1, reasoning_tokens: 2 };

const COMPLETED: Draft = { type: "generation.completed", finish_reason: "stop", usage };
const call = (id: string, args = "{}"): Draft => ({
  type: "tool.call",
  call_id: id,
  name: "look_up",
  arguments: args,
});

/** The chunks of a log, and if `[DONE]` follows them. */
function chunksOf(drafts: readonly Draft[], options = {}): UiChunk[] {
  return parse(framesOf(createUiStream(options), toLog(drafts)).flat());
}

function parse(frames: readonly Frame[]): UiChunk[] {
  return frames.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data) as UiChunk);
}

const typesOf = (chunks: readonly UiChunk[]) => chunks.map(({ type }) => type);

describe("every log", () => {
  itKeepsTheLaws(
    stream,
    ({ data }, before) => data === "[DONE]" && (before?.data.includes('"type":"finish"') ?? false),
  );

  it("never says a delta of a part that is not open, nor resets what no step holds", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        const open = new Set<string>();
        let isInStep = false;
        const [first, ...chunks] = parse(framesOf(stream, log).flat());
        expect(first?.type).toBe("start");
        for (const chunk of chunks) {
          if (chunk.type === "start-step" || chunk.type === "finish-step") {
            expect([chunk.type, isInStep]).toEqual([chunk.type, chunk.type === "finish-step"]);
            expect(open.size).toBe(0);
            isInStep = !isInStep;
          }
          if (chunk.type === "reset-step") open.clear();
          if ("id" in chunk && chunk.type.endsWith("-start")) open.add(chunk.id);
          else if ("id" in chunk) expect(open).toContain(chunk.id);
          if ("id" in chunk && chunk.type.endsWith("-end")) open.delete(chunk.id);
          const isPart = "id" in chunk || "toolCallId" in chunk || chunk.type === "reset-step";
          expect(isPart && !isInStep).toBe(false);
        }
        expect([open.size, isInStep]).toEqual([0, false]);
      }),
    );
  });
});

describe("a message", () => {
  it("has its texts and its reasoning in parts of their own, in the order in which they were said", () => {
    expect(
      chunksOf([STARTED, { type: "reasoning.delta", text: "hm" }, text("Hel"), text("lo"), COMPLETED]),
    ).toEqual([
      {
        type: "start",
        messageId: RUN.generation,
        messageMetadata: { generation: RUN.generation, model: "sim", createdAt: RUN.createdAtMs },
      },
      { type: "start-step" },
      { type: "reasoning-start", id: "reasoning-2" },
      { type: "reasoning-delta", id: "reasoning-2", delta: "hm" },
      { type: "reasoning-end", id: "reasoning-2" },
      { type: "text-start", id: "text-3" },
      { type: "text-delta", id: "text-3", delta: "Hel" },
      { type: "text-delta", id: "text-3", delta: "lo" },
      { type: "text-end", id: "text-3" },
      { type: "finish-step" },
      {
        type: "finish",
        finishReason: "stop",
        messageMetadata: {
          usage: {
            inputTokens: 3,
            inputTokenDetails: { noCacheTokens: 2, cacheReadTokens: 1 },
            outputTokens: 5,
            outputTokenDetails: { textTokens: 3, reasoningTokens: 2 },
            totalTokens: 8,
          },
          finishReason: "stop",
        },
      },
    ]);
  });

  it("continues with the message that it is told to continue with, and is another projection then", () => {
    const [start] = chunksOf([STARTED], { messageId: "msg-7" });
    expect(start).toMatchObject({ type: "start", messageId: "msg-7" });
    expect(createUiStream({ messageId: "msg-7" }).name).not.toBe(stream.name);
  });

  it("has a tool's answer in the step of its call, and what the model says then in another step", () => {
    const chunks = chunksOf([
      STARTED,
      call("call_1", '{"word":"log"}'),
      { type: "tool.result", call_id: "call_1", output: { found: 1 } },
      text("Found."),
      COMPLETED,
    ]);
    expect(typesOf(chunks)).toEqual([
      "start",
      "start-step",
      "tool-input-available",
      "tool-output-available",
      "finish-step",
      "start-step",
      "text-start",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    expect(chunks[2]).toMatchObject({ toolCallId: "call_1", toolName: "look_up", input: { word: "log" } });
    expect(chunks[3]).toMatchObject({ toolCallId: "call_1", output: { found: 1 } });
  });

  it.each([
    ["a call without arguments", call("c", ""), { type: "tool-input-available", input: {} }],
    ["a call whose arguments are no JSON", call("c", "{"), { type: "tool-input-error", input: "{" }],
    [
      "a call whose arguments were withdrawn",
      { ...call("c", ""), redacted: true },
      { type: "tool-input-error" },
    ],
    [
      "a source that is a link",
      { type: "output.annotation", kind: "url", url: "https://a.example/", title: "A" },
      { type: "source-url", sourceId: "source-2", url: "https://a.example/", title: "A" },
    ],
    [
      "a source that is no link",
      { type: "output.annotation", kind: "url", url: "javascript:alert(1)", title: "A" },
      { type: "source-document", title: "A" },
    ],
    [
      "a file that is a source",
      { type: "output.annotation", kind: "file", name: "a.pdf" },
      { type: "source-document", title: "a.pdf", filename: "a.pdf" },
    ],
    [
      "an image that the model has made",
      { type: "output.blob", kind: "image", blob: "blob_1", media_type: "image/png", bytes: 1 },
      { type: "file", url: `/v1/generations/${RUN.generation}/blobs/blob_1`, mediaType: "image/png" },
    ],
    [
      "an image that was withdrawn",
      { type: "output.blob", kind: "image" },
      { type: "data-withdrawn", data: { kind: "image" }, transient: true },
    ],
  ])("has %s as it can be told", (_name, event, chunk) => {
    expect(chunksOf([STARTED, event])[2]).toMatchObject(chunk);
  });

  it("keeps the sealed form of reasoning in the part that it is the form of", () => {
    const summary = { type: "reasoning.summary.delta", text: "Looks it up." };
    const sealed = { type: "reasoning.sealed", encrypted: "c2VhbA==", id: "rs_1" };
    const metadata = { reprise: { summary: true, encrypted: "c2VhbA==", id: "rs_1" } };
    expect(chunksOf([STARTED, summary, sealed]).slice(2)).toEqual([
      { type: "reasoning-start", id: "reasoning-2", providerMetadata: { reprise: { summary: true } } },
      { type: "reasoning-delta", id: "reasoning-2", delta: "Looks it up." },
      { type: "reasoning-end", id: "reasoning-2", providerMetadata: metadata },
    ]);
    expect(typesOf(chunksOf([STARTED, sealed])).slice(2)).toEqual(["reasoning-start", "reasoning-end"]);
  });
});

describe("a restart", () => {
  const again = (toSeq: number): Draft[] => [
    { ...STARTED, attempt: 2, reason: "worker_lost" },
    { type: "output.rewind", to_seq: toSeq, reason: "worker_lost" },
  ];

  it("resets the step, and what is said again is in it", () => {
    const types = typesOf(chunksOf([STARTED, text("Hel"), ...again(0), text("Hello"), COMPLETED]));
    expect(types.slice(1, 7)).toEqual([
      "start-step",
      "text-start",
      "text-delta",
      "reset-step",
      "text-start",
      "text-delta",
    ]);
  });

  it("says nothing where nothing was said, or where the text continues", () => {
    expect(typesOf(chunksOf([STARTED, ...again(0)]))).toEqual(["start"]);
    expect(typesOf(chunksOf([STARTED, text("Hel"), ...again(2)]))).not.toContain("reset-step");
  });

  it("keeps the steps whose tools have answered", () => {
    const answered = [STARTED, call("c"), { type: "tool.result", call_id: "c", output: 1 }];
    const types = typesOf(chunksOf([...answered, text("Fo"), ...again(3), text("Found")]));
    expect(types.filter((type) => type.endsWith("-step"))).toEqual([
      "start-step",
      "finish-step",
      "start-step",
      "reset-step",
    ]);
  });

  it.each([
    ["an earlier step", [call("c"), { type: "tool.result", call_id: "c", output: 1 }, text("a")], 0],
    ["a part of the step", [text("a"), text("b")], 2],
  ])("that would take back %s is an error with the code restarted", (_name, said, toSeq) => {
    const chunks = chunksOf([STARTED, ...said, ...again(toSeq), text("c"), COMPLETED]);
    expect(chunks.slice(-3)).toMatchObject([
      { type: "error", code: "restarted", retryable: true },
      { type: "finish-step" },
      { type: "finish", finishReason: "error" },
    ]);
  });
});

describe("an end", () => {
  it.each([
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["tool_calls", "tool-calls"],
    ["timeout", "other"],
    ["schema_mismatch", "other"],
    ["interrupted", "other"],
    ["of_a_later_version", "other"],
  ])("with %s finishes with %s", (reason, finishReason) => {
    expect(chunksOf([STARTED, { ...COMPLETED, finish_reason: reason }]).at(-1)).toMatchObject({
      type: "finish",
      finishReason,
      messageMetadata: { finishReason: reason },
    });
  });

  it("by a failure is an error with its code", () => {
    const error = { code: "engine_failed", message: "The engine broke off.", retryable: true };
    const chunks = chunksOf([STARTED, text("Hel"), { type: "generation.failed", error, usage }]);
    expect(chunks.slice(4)).toMatchObject([
      { type: "text-end" },
      { type: "error", errorText: error.message, code: error.code, retryable: true },
      { type: "finish-step" },
      { type: "finish", finishReason: "error" },
    ]);
  });

  const cancelled = { type: "generation.cancelled", reason: "asked", usage };

  it("by a cancel aborts, before anything was said too", () => {
    expect(chunksOf([cancelled]).slice(1)).toMatchObject([
      { type: "start-step" },
      { type: "abort", reason: "asked" },
      { type: "finish-step" },
      { type: "finish", finishReason: "other", messageMetadata: { finishReason: "cancelled" } },
    ]);
    expect(typesOf(chunksOf([STARTED, text("Hel"), cancelled])).slice(4)).toEqual([
      "text-end",
      "abort",
      "finish-step",
      "finish",
    ]);
  });

  it("by a cancel after a call has a step of its own, so that no page answers the call by itself", () => {
    const chunks = chunksOf([STARTED, text("Hel"), call("c1"), text("lo"), cancelled]);
    expect(typesOf(chunks).slice(-7)).toEqual([
      "text-delta",
      "text-end",
      "finish-step",
      "start-step",
      "abort",
      "finish-step",
      "finish",
    ]);
  });
});
