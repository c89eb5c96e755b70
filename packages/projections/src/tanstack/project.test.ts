import { EventSchemas } from "@ag-ui/core/schemas";
import { StreamProcessor, type StreamChunk } from "@tanstack/ai/client";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyLog, type LogEvent } from "../any-log.fixture.ts";
import { completed, delta, framesOf, itKeepsTheLaws, logOf, USAGE } from "../projection-laws.fixture.ts";
import { parseOffset } from "./position.ts";
import { tanstackProjection } from "./project.ts";

const METADATA = { "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" };
const chunksOf = (events: readonly LogEvent[], isStructured = false) =>
  framesOf(tanstackProjection({ metadata: METADATA, isStructured }), events)
    .flat()
    .map(({ data }) => JSON.parse(data) as StreamChunk);

/** The parts that the client's own processor builds from the chunks. */
function partsAfter(chunks: readonly StreamChunk[]): readonly object[] {
  const processor = new StreamProcessor();
  processor.prepareAssistantMessage();
  for (const chunk of chunks) processor.processChunk(chunk);
  processor.finalizeStream();
  return processor.getMessages().flatMap(({ parts }) => parts);
}

describe.each([{ isStructured: false }, { isStructured: true }])("chunks, %j", (options) => {
  const projection = tanstackProjection({ metadata: METADATA, ...options });

  itKeepsTheLaws(projection, ({ data }) => /^{"type":"RUN_(FINISHED|ERROR)"/.test(data));

  it("are events of AG-UI", () => {
    fc.assert(
      fc.property(anyLog, (events) => {
        for (const chunk of chunksOf(events, options.isStructured))
          expect(EventSchemas.parse(chunk)).toEqual(chunk);
      }),
    );
  });
});

describe("TanStack's client", () => {
  it("has the reasoning, the text and the calls as parts of one message", () => {
    const events = logOf(
      { type: "reasoning.delta", text: "Hm." },
      delta("Hel"),
      delta("lo"),
      { type: "tool.call", call_id: "c1", name: "look_up", arguments: '{"q":1}' },
      completed("tool_calls"),
    );
    expect(partsAfter(chunksOf(events))).toMatchObject([
      { type: "thinking", content: "Hm." },
      { type: "text", content: "Hello" },
      { type: "tool-call", id: "c1", name: "look_up", arguments: '{"q":1}', state: "input-complete" },
    ]);
  });

  it("is told to run its tool", () => {
    const called = { type: "tool.call", call_id: "c1", name: "look_up", arguments: '{"q":1}' };
    expect(chunksOf(logOf(called, completed("tool_calls")))).toContainEqual({
      type: "CUSTOM",
      name: "tool-input-available",
      value: { toolCallId: "c1", toolName: "look_up", input: { q: 1 } },
    });
  });

  it("has JSON that was asked for as a value", () => {
    expect(partsAfter(chunksOf(logOf(delta('{"a":'), delta("1}"), completed()), true))).toMatchObject([
      { type: "structured-output", status: "complete", data: { a: 1 }, raw: '{"a":1}' },
    ]);
  });

  it("is told that a value is not whole", () => {
    expect(partsAfter(chunksOf(logOf(delta('{"a":'), completed("length")), true))).toMatchObject([
      { type: "structured-output", status: "error" },
    ]);
  });

  it("reads why a run has ended, and which run has failed", () => {
    expect(chunksOf(logOf(completed("length"))).at(-1)).toMatchObject({
      metadata: { tanstack: { finishReason: "length", model: "sim" } },
    });
    const cancelled = { type: "generation.cancelled", reason: "asked", usage: USAGE };
    expect(chunksOf(logOf(cancelled)).at(-1)).toMatchObject({
      type: "RUN_ERROR",
      code: "cancelled",
      metadata: { tanstack: { threadId: "t1", runId: "r1" } },
    });
  });
});

describe("a position", () => {
  it("is the number of the last frame that the client has", () => {
    expect(parseOffset("-1", "offset")).toBe(0);
    expect(parseOffset("0", "Last-Event-ID")).toBe(1);
    expect(parseOffset("41", "Last-Event-ID")).toBe(42);
  });

  it.each(["", "now", "-2", "01", "1.5", "1".repeat(17)])("%j is none", (offset) => {
    expect(() => parseOffset(offset, "offset")).toThrow(
      expect.objectContaining({ code: "cursor_invalid", param: "offset" }),
    );
  });
});
