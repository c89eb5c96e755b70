import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { RepriseError } from "@reprise/client";
import { describe, expect, it } from "vitest";
import {
  called,
  CANCELLED,
  COMPLETED,
  delta,
  type Draft,
  FAILED,
  FAKE_ID,
  STARTED,
  toEvents,
  USAGE,
} from "../fake-generation.fixture.ts";
import { StreamParts } from "./stream-parts.ts";

const TOLD_USAGE = {
  inputTokens: { total: 3, noCache: 2, cacheRead: 1, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
  raw: USAGE,
};

function partsOf(...drafts: readonly Draft[]): LanguageModelV4StreamPart[] {
  const parts = new StreamParts([], () => FAKE_ID);
  return [...parts.begin(), ...toEvents(drafts).flatMap((event) => parts.tell(event))];
}

/** The parts of a kind. */
const only = (parts: readonly LanguageModelV4StreamPart[], ...types: readonly string[]) =>
  parts.filter(({ type }) => types.includes(type));

describe("what is said", () => {
  it("is in parts of its own, each between a start and an end, between the metadata and the finish", () => {
    expect(
      partsOf(STARTED, { type: "reasoning.delta", text: "hm" }, delta("Hel"), delta("lo"), COMPLETED),
    ).toEqual([
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: FAKE_ID, modelId: "sim" },
      { type: "reasoning-start", id: "reasoning-2" },
      { type: "reasoning-delta", id: "reasoning-2", delta: "hm" },
      { type: "reasoning-end", id: "reasoning-2" },
      { type: "text-start", id: "text-3" },
      { type: "text-delta", id: "text-3", delta: "Hel" },
      { type: "text-delta", id: "text-3", delta: "lo" },
      { type: "text-end", id: "text-3" },
      { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: TOLD_USAGE },
    ]);
  });

  it("has a refusal and each part of a summary apart, and no output but the first", () => {
    const summary = (part: number) => ({ type: "reasoning.summary.delta", part, text: `${part}` });
    const parts = partsOf(STARTED, summary(0), summary(1), { ...delta("other"), output: 1 }, delta("a"), {
      type: "refusal.delta",
      text: "b",
    });
    expect(only(parts, "reasoning-delta", "text-delta")).toEqual([
      { type: "reasoning-delta", id: "reasoning-2", delta: "0" },
      { type: "reasoning-delta", id: "reasoning-3", delta: "1" },
      { type: "text-delta", id: "text-5", delta: "a" },
      { type: "text-delta", id: "text-6", delta: "b" },
    ]);
  });

  it("seals reasoning with what goes back to the model, and with nothing where that was withdrawn", () => {
    const sealed = (encrypted: string) => ({ type: "reasoning.sealed", encrypted, id: "rs_1" });
    const reasoned = { type: "reasoning.delta", text: "hm" };
    expect(only(partsOf(STARTED, reasoned, sealed("xyz")), "reasoning-end")).toEqual([
      {
        type: "reasoning-end",
        id: "reasoning-2",
        providerMetadata: { reprise: { encrypted: "xyz", id: "rs_1" } },
      },
    ]);
    expect(only(partsOf(STARTED, sealed("xyz")), "reasoning-start", "reasoning-end")).toHaveLength(2);
    expect(only(partsOf(STARTED, reasoned, sealed("")), "reasoning-end")).toEqual([
      { type: "reasoning-end", id: "reasoning-2" },
    ]);
  });
});

describe("a summary of reasoning", () => {
  const summary = { type: "reasoning.summary.delta", text: "In short." };
  const metadataOf = (...drafts: readonly Draft[]) =>
    only(partsOf(STARTED, ...drafts), "reasoning-start", "reasoning-end").map((part) =>
      "providerMetadata" in part ? part.providerMetadata?.["reprise"] : undefined,
    );

  it("is told from reasoning, sealed or not", () => {
    expect(metadataOf(summary, delta("a"))).toEqual([{ summary: true }, undefined]);
    expect(metadataOf(summary, { type: "reasoning.sealed", encrypted: "xyz" })).toEqual([
      { summary: true },
      { summary: true, encrypted: "xyz" },
    ]);
  });
});

describe("a tool's call", () => {
  it("is told with its arguments, after the text before it", () => {
    expect(partsOf(STARTED, delta("a"), called('{"word":"log"}')).slice(-5)).toEqual([
      { type: "text-end", id: "text-2" },
      { type: "tool-input-start", id: "call_1", toolName: "look_up" },
      { type: "tool-input-delta", id: "call_1", delta: '{"word":"log"}' },
      { type: "tool-input-end", id: "call_1" },
      { type: "tool-call", toolCallId: "call_1", toolName: "look_up", input: '{"word":"log"}' },
    ]);
  });

  it("without arguments has none, and with withdrawn ones is no JSON", () => {
    const inputOf = (call: Draft) => only(partsOf(STARTED, call), "tool-call")[0];
    expect(inputOf(called(""))).toMatchObject({ input: "{}" });
    expect(inputOf(called("", { redacted: true }))).toMatchObject({ input: "[withdrawn]" });
    expect(inputOf(called("…", { redacted: true }))).toMatchObject({ input: "…" });
  });
});

describe("a source", () => {
  const sourceOf = (fields: object) =>
    only(partsOf(STARTED, { type: "output.annotation", ...fields }), "source")[0];

  it("is a link, or a document", () => {
    expect(sourceOf({ kind: "url", url: "https://a.example/b", title: "B" })).toEqual({
      type: "source",
      sourceType: "url",
      id: "source-2",
      url: "https://a.example/b",
      title: "B",
    });
    expect(sourceOf({ kind: "file", file: "file_1", name: "b.pdf" })).toEqual({
      type: "source",
      sourceType: "document",
      id: "source-2",
      mediaType: "application/octet-stream",
      title: "b.pdf",
      filename: "b.pdf",
    });
    expect(sourceOf({ kind: "of a later version" })).toBeUndefined();
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", " javascript:alert(1)"])(
    "with the URL %j is no link",
    (url) => {
      const source = sourceOf({ kind: "url", url, title: "B" });
      expect(source).toMatchObject({ sourceType: "document", title: "B" });
      expect(JSON.stringify(source)).not.toContain(url);
    },
  );
});

describe("the end", () => {
  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["tool_calls", "tool-calls"],
    ["timeout", "other"],
    ["of a later version", "other"],
  ])("%s is %s", (raw, unified) => {
    expect(partsOf(STARTED, { ...COMPLETED, finish_reason: raw }).at(-1)).toMatchObject({
      type: "finish",
      finishReason: { unified, raw },
    });
  });

  it("of a cancelled generation is `other`, with what it used", () => {
    expect(partsOf(STARTED, delta("a"), CANCELLED).at(-1)).toEqual({
      type: "finish",
      finishReason: { unified: "other", raw: "cancelled" },
      usage: TOLD_USAGE,
    });
  });

  it("of a failed one is its error, then the finish, and nothing after it", () => {
    const parts = partsOf(STARTED, delta("a"), FAILED, delta("b"));
    expect(parts.slice(-3)).toEqual([
      { type: "text-end", id: "text-2" },
      { type: "error", error: expect.any(RepriseError) },
      { type: "finish", finishReason: { unified: "error", raw: "engine_rejected" }, usage: TOLD_USAGE },
    ]);
    expect(parts.at(-2)).toMatchObject({
      error: { code: "engine_rejected", message: "No.", retryable: false },
    });
  });

  it("tells of no tokens that are unknown", () => {
    const usage = { input_tokens: null, output_tokens: 4 };
    expect(partsOf(STARTED, { ...COMPLETED, usage }).at(-1)).toMatchObject({
      usage: {
        inputTokens: { total: undefined, noCache: undefined },
        outputTokens: { total: 4, text: undefined, reasoning: undefined },
      },
    });
  });

  it("is not told before it has come", () => {
    const parts = new StreamParts([], () => FAKE_ID);
    for (const event of toEvents([STARTED, delta("a")])) parts.tell(event);
    expect(parts.hasEnded).toBe(false);
  });
});

describe("a restart", () => {
  const rewind = (to: number): Draft => ({ type: "output.rewind", to_seq: to, reason: "worker_lost" });

  it("after what was told is an error, as no part can be taken back", () => {
    const parts = partsOf(STARTED, delta("a"), delta("b"), rewind(2), delta("b"), COMPLETED);
    expect(parts.slice(-2)).toMatchObject([
      { type: "error", error: { code: "engine_failed" } },
      {
        type: "finish",
        finishReason: { unified: "error", raw: "engine_failed" },
        usage: { outputTokens: { total: undefined } },
      },
    ]);
  });

  it("that takes nothing back is not seen", () => {
    const parts = partsOf(STARTED, delta("a"), rewind(2), { ...STARTED, attempt: 2, model: "b" }, delta("c"));
    expect(only(parts, "error", "text-start")).toHaveLength(1);
    expect(only(parts, "response-metadata").at(-1)).toMatchObject({ modelId: "b" });
  });
});
