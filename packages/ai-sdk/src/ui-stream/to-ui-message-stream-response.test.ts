import { RepriseError } from "@reprise/client";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  called,
  CANCELLED,
  COMPLETED,
  createFakeGeneration,
  delta,
  type Draft,
  FAILED,
  FAKE_ID,
  type FakeGenerationOptions,
  STARTED,
} from "../fake-generation.fixture.ts";
import { toUIMessageStreamResponse, type UiMessageStreamOptions } from "./to-ui-message-stream-response.ts";

const LOG = [STARTED, delta("Hel"), delta("lo"), called("{}"), COMPLETED];
const GONE = new RepriseError("generation_not_found", "There is none.", { retryable: false });
const AWAY = new RepriseError("connection_lost", "It broke.", { retryable: true });

const respond = (
  drafts: readonly Draft[],
  options?: UiMessageStreamOptions,
  more?: FakeGenerationOptions,
): Response => toUIMessageStreamResponse(createFakeGeneration(drafts, more), options);

/** The contents of a response's `data: ` lines. */
async function framesOf(response: Response): Promise<string[]> {
  const text = await response.text();
  expect(text).toMatch(/^(data: .*\n\n)*$/);
  return text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => frame.slice("data: ".length));
}

async function chunksOf(response: Response): Promise<{ type: string }[]> {
  const frames = await framesOf(response);
  expect(frames.pop()).toBe("[DONE]");
  return frames.map((frame) => JSON.parse(frame) as { type: string });
}

describe("a response", () => {
  it("has the chunks of the generation, their end, and the headers that the AI SDK looks for", async () => {
    const response = respond(LOG);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-vercel-ai-ui-message-stream": "v1",
      "x-workflow-run-id": FAKE_ID,
    });
    const chunks = await chunksOf(response);
    expect(chunks.map(({ type }) => type)).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-delta",
      "text-delta",
      "text-end",
      "tool-input-available",
      "finish-step",
      "finish",
    ]);
  });

  it("may have other headers and another status", () => {
    const { headers, status } = respond(LOG, {
      status: 201,
      headers: { "Cache-Control": "no-store", "x-a": "1" },
    });
    expect([status, headers.get("cache-control"), headers.get("x-a")]).toEqual([201, "no-store", "1"]);
  });

  it("says of its message what the log says, and when it was created if that is given", async () => {
    const startOf = async (drafts: readonly Draft[], options?: UiMessageStreamOptions) =>
      (await chunksOf(respond(drafts, options)))[0];
    expect(await startOf(LOG)).toEqual({
      type: "start",
      messageId: FAKE_ID,
      messageMetadata: { generation: FAKE_ID, model: "sim" },
    });
    expect(await startOf(LOG, { createdAt: "2026-11-27T22:00:00.000Z", messageId: "msg_7" })).toEqual({
      type: "start",
      messageId: "msg_7",
      messageMetadata: { generation: FAKE_ID, model: "sim", createdAt: Date.UTC(2026, 10, 27, 22) },
    });
    // It was cancelled before a worker had it.
    expect(await startOf([CANCELLED])).toEqual({
      type: "start",
      messageId: FAKE_ID,
      messageMetadata: { generation: FAKE_ID },
    });
  });

  it.each([
    ["startIndex", { startIndex: -1 }],
    ["startIndex", { startIndex: 1.5 }],
    ["startIndex", { startIndex: Number.NaN }],
    ["createdAt", { createdAt: "yesterday" }],
  ])("with a wrong %s is refused: %j", (param, options) => {
    expect(() => respond(LOG, options)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });
});

describe("a response from a later chunk on", () => {
  it("is byte for byte the rest of any other reader's", async () => {
    const words = fc.array(fc.string({ unit: "binary", maxLength: 8 }), { maxLength: 6 });
    const end = fc.constantFrom(COMPLETED, FAILED, CANCELLED);
    await fc.assert(
      fc.asyncProperty(words, end, fc.nat(20), async (texts, ending, startIndex) => {
        const log = [STARTED, ...texts.map(delta), ending];
        const whole = await framesOf(respond(log));
        const rest = await framesOf(respond(log, { startIndex }));
        expect(rest).toEqual(whole.slice(Math.min(startIndex, whole.length - 1)));
      }),
      { numRuns: 40 },
    );
  });
});

describe("an error that no retry mends", () => {
  it.each([0, 1, 50])(
    "is told, with the end that a transport waits for, to a reader from chunk %i on",
    async (startIndex) => {
      const chunks = await chunksOf(respond([STARTED], { startIndex }, { failure: GONE }));
      expect(chunks.slice(-2)).toEqual([
        { type: "error", errorText: "There is none.", code: "generation_not_found", retryable: false },
        { type: "finish", finishReason: "error" },
      ]);
      expect(chunks).toHaveLength(startIndex === 0 ? 3 : 2);
    },
  );
});

describe("a response is broken off", () => {
  it.each([
    ["the connection is lost", { failure: AWAY }, AWAY],
    ["its loop fails by itself", { failure: new TypeError("A bug.") }, new TypeError("A bug.")],
    ["its generation is left before the end", {}, expect.objectContaining({ code: "connection_lost" })],
  ])("where %s: no client takes it for whole", async (_, more, error) => {
    const reader = respond([STARTED, delta("a")], {}, more).body!.getReader();
    for (const type of ["start", "start-step", "text-start", "text-delta"])
      expect(new TextDecoder().decode((await reader.read()).value)).toContain(`"type":"${type}"`);
    await expect(reader.read()).rejects.toEqual(error);
  });
});

it("a reader that leaves while the model is silent leaves the generation", async () => {
  const generation = createFakeGeneration([STARTED], { isSilent: true });
  const reader = toUIMessageStreamResponse(generation).body!.getReader();
  await reader.read();
  const silent = reader.read();
  await reader.cancel();
  expect([await silent, generation.wasLeft]).toEqual([{ done: true, value: undefined }, true]);
});
