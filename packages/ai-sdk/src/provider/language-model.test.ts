import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { RepriseError } from "@reprise/client";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { describe, expect, it } from "vitest";
import {
  called,
  COMPLETED,
  createFakeClient,
  createFakeGeneration,
  delta,
  FAILED,
  FAKE_ID,
  STARTED,
} from "../fake-generation.fixture.ts";
import { createLanguageModel } from "./language-model.ts";

const CALL: LanguageModelV4CallOptions = {
  prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
};

async function collect(stream: ReadableStream<LanguageModelV4StreamPart>) {
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe("a stream", () => {
  it("has the parts of the generation, which was asked for once, with its key and its signal", async () => {
    const { client, runs } = createFakeClient(createFakeGeneration([STARTED, delta("a"), COMPLETED]));
    const { signal: abortSignal } = new AbortController();
    const headers = { "Idempotency-Key": "order-7" };
    const { stream, request } = await createLanguageModel("sim", client).doStream({
      ...CALL,
      abortSignal,
      headers,
    });
    expect((await collect(stream)).map(({ type }) => type)).toEqual([
      "stream-start",
      "response-metadata",
      "text-start",
      "text-delta",
      "text-end",
      "finish",
    ]);
    expect(runs).toEqual([[request?.body, { idempotencyKey: "order-7", signal: abortSignal }]]);
    expect(request?.body).toMatchObject({ model: "sim", input: [{ role: "user", content: "Hi" }] });
  });

  it("that ends before its generation does has an error for its end", async () => {
    const { client } = createFakeClient(createFakeGeneration([STARTED, delta("a")]));
    const { stream } = await createLanguageModel("sim", client).doStream(CALL);
    await expect(collect(stream)).rejects.toMatchObject({ code: "connection_lost" });
  });

  it("fails as the generation's does", async () => {
    const failure = new RepriseError("unauthenticated", "No such key.");
    const { client } = createFakeClient(createFakeGeneration([], { failure }));
    const { stream } = await createLanguageModel("sim", client).doStream(CALL);
    await expect(collect(stream)).rejects.toBe(failure);
  });

  it("that is left while the model is silent leaves the generation", async () => {
    const generation = createFakeGeneration([STARTED], { isSilent: true });
    const { client } = createFakeClient(generation);
    const { stream } = await createLanguageModel("sim", client).doStream(CALL);
    const reader = stream.getReader();
    await reader.read();
    await reader.read();
    const silent = reader.read();
    await reader.cancel();
    expect([await silent, generation.wasLeft]).toEqual([{ done: true, value: undefined }, true]);
  });
});

describe("an answer in one", () => {
  it("is what the parts add up to", async () => {
    const log = [
      STARTED,
      { type: "reasoning.delta", text: "h" },
      { type: "reasoning.delta", text: "m" },
      { type: "reasoning.sealed", encrypted: "xyz" },
      delta("Hel"),
      delta("lo"),
      { type: "output.annotation", kind: "url", url: "https://a.example" },
      called('{"word":"log"}'),
      { ...COMPLETED, finish_reason: "tool_calls" },
    ];
    const { client } = createFakeClient(createFakeGeneration(log));
    const options = { ...CALL, includeRawChunks: true };
    expect(await createLanguageModel("sim", client).doGenerate(options)).toMatchObject({
      content: [
        { type: "reasoning", text: "hm", providerMetadata: { reprise: { encrypted: "xyz" } } },
        { type: "text", text: "Hello" },
        { type: "source", sourceType: "url", url: "https://a.example" },
        { type: "tool-call", toolCallId: "call_1", input: '{"word":"log"}' },
      ],
      finishReason: { unified: "tool-calls" },
      usage: { outputTokens: { total: 5 } },
      response: { id: FAKE_ID, modelId: "sim" },
      warnings: [{ feature: "includeRawChunks" }],
    });
  });

  it.each([
    ["failed", [STARTED, FAILED], "engine_rejected"],
    ["was left", [STARTED, delta("a")], "connection_lost"],
  ])("is an error where the generation %s", async (_, log, code) => {
    const { client } = createFakeClient(createFakeGeneration(log));
    await expect(createLanguageModel("sim", client).doGenerate(CALL)).rejects.toMatchObject({ code });
  });
});

describe("a function", () => {
  async function run(call: ReturnType<typeof called>) {
    const { client } = createFakeClient(createFakeGeneration([STARTED, call, COMPLETED]));
    const inputs: unknown[] = [];
    const lookUp = tool({
      inputSchema: jsonSchema({ type: "object" }),
      execute: (input) => void inputs.push(input),
    });
    const model = createLanguageModel("sim", client);
    const result = await generateText({
      model,
      prompt: "Hi",
      tools: { look_up: lookUp },
      stopWhen: stepCountIs(1),
    });
    return { inputs, errors: result.steps[0]?.content.filter(({ type }) => type === "tool-error") };
  }

  it("is run with the arguments of its call, or with none", async () => {
    expect(await run(called('{"word":"log"}'))).toEqual({ inputs: [{ word: "log" }], errors: [] });
    expect(await run(called(""))).toEqual({ inputs: [{}], errors: [] });
  });

  it.each(["", "…"])("is not run where moderation has left %j of its call", async (left) => {
    const { inputs, errors } = await run(called(left, { redacted: true }));
    expect(inputs).toEqual([]);
    expect(errors).toHaveLength(1);
  });
});
