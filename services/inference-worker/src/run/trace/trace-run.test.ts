import { recordSpans } from "@reprise/runtime/telemetry/testing";
import { RepriseError, parseGenerationRequest } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { Engine, EngineEvent, FinishEvent, ToolCallEvent } from "../../engines/engine.ts";
import { answered } from "../../testing/drafts.ts";
import { createFakeEngine, untilAborted } from "../../testing/fake-engines.ts";
import { openWorld, type World } from "../../testing/world.ts";
import { GEN_AI } from "@reprise/runtime/telemetry";
import { TurnContent } from "./turn-content.ts";

const PARENT = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const TRACEPARENT = `00-${PARENT.traceId}-${PARENT.spanId}-01`;
const SECRET = "s3cretS3CRET";

const TEXT: EngineEvent = { type: "text", text: SECRET };
const FINISH: FinishEvent = { type: "finish", reason: "stop", usage: { input_tokens: 5, output_tokens: 1 } };
const CALL: ToolCallEvent = { type: "tool_call", callId: "a", name: SECRET, arguments: `{"a":"${SECRET}"}` };

async function* says(...events: EngineEvent[]): AsyncGenerator<EngineEvent> {
  yield* events;
}

/** The spans of a run that has ended. */
async function traceOf(world: World, tracing: ReturnType<typeof recordSpans>) {
  await expect.poll(() => world.queuedJobs()).toBe(0);
  await expect.poll(() => tracing.spans.map(({ name }) => name)).toContain("process jobs");
  const [run] = tracing.spans.filter(({ name }) => name === "process jobs");
  return { run, spans: tracing.spans };
}

test("a run continues with the trace of its seq 0: turns of the engine, waits for tools and the end are children", async () => {
  const tracing = recordSpans();
  await using world = await openWorld();
  let turns = 0;
  const engine = createFakeEngine(() =>
    turns++ === 0 ? says(TEXT, CALL, { type: "finish", reason: "tool_calls" }) : says(TEXT, FINISH),
  );
  await world.startWorker(engine, { tracing });
  const request = { input: SECRET, metadata: { order: SECRET }, end_user: SECRET };
  const ref = await world.submit({ traceparent: TRACEPARENT, request });
  await world.until(ref, (events) => events.some(({ type }) => type === "tool.call"));
  await world.append(ref, answered("a"));
  await world.untilEnded(ref);
  const { run, spans } = await traceOf(world, tracing);
  expect(run).toMatchObject({
    kind: "consumer",
    traceId: PARENT.traceId,
    parentSpanId: PARENT.spanId,
    links: [PARENT],
    attributes: {
      "reprise.generation": ref.generation,
      "reprise.attempt": 1,
      "reprise.queue_wait_ms": expect.any(Number),
      "reprise.result": "completed",
    },
    error: undefined,
  });
  expect(spans.map(({ name, kind, parentSpanId }) => [name, kind, parentSpanId])).toEqual([
    ["chat fake", "client", run?.spanId],
    ["execute_tool", "internal", run?.spanId],
    ["chat fake", "client", run?.spanId],
    ["append end", "producer", run?.spanId],
    ["process jobs", "consumer", PARENT.spanId],
  ]);
  expect(spans[2]).toMatchObject({
    attributes: {
      "gen_ai.request.model": "fake",
      "gen_ai.usage.input_tokens": 5,
      "gen_ai.usage.output_tokens": 1,
      "gen_ai.response.finish_reasons": ["stop"],
    },
    events: [{ name: "first_token" }],
  });
  expect(JSON.stringify(spans)).not.toContain(SECRET);
});

test("the span of a turn says which server answered, with what, and in how many tokens of which kind; the engine is given the span's place", async () => {
  const tracing = recordSpans();
  await using world = await openWorld();
  const usage = { input_tokens: 5, output_tokens: 3, cached_input_tokens: 4, reasoning_tokens: 2 };
  const given: (string | undefined)[] = [];
  const generate: Engine["generate"] = (_request, { traceparent, onAnswer }) => {
    given.push(traceparent);
    onAnswer?.({ id: "chatcmpl-1", model: "org/m" });
    return says(TEXT, { ...FINISH, usage });
  };
  const address = { host: "models.example", port: 8_000 };
  await world.startWorker(createFakeEngine(generate, { address }), { tracing });
  const ref = await world.submit({ request: { input: "Hi", max_output_tokens: 99 } });
  await world.untilEnded(ref);
  const { spans } = await traceOf(world, tracing);
  const [turn] = spans.filter(({ name }) => name === "chat fake");
  expect(turn).toMatchObject({
    attributes: {
      "reprise.longest_wait_ms": expect.any(Number),
      "gen_ai.request.stream": true,
      "gen_ai.request.max_tokens": 99,
      "gen_ai.response.id": "chatcmpl-1",
      "gen_ai.response.model": "org/m",
      "gen_ai.usage.cache_read.input_tokens": 4,
      "gen_ai.usage.reasoning.output_tokens": 2,
      "server.address": "models.example",
      "server.port": 8_000,
    },
  });
  expect(given).toEqual([`00-${turn?.traceId}-${turn?.spanId}-01`]);
});

test("a run whose engine fails has failed with the code that readers see, and says nothing of the engine's words", async () => {
  const tracing = recordSpans();
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield TEXT;
    throw new RepriseError("engine_rejected", SECRET);
  });
  await world.startWorker(engine, { tracing });
  const ref = await world.submit();
  await world.untilEnded(ref);
  const { run, spans } = await traceOf(world, tracing);
  expect(run).toMatchObject({ parentSpanId: undefined, links: [], error: "engine_rejected" });
  expect(spans.find(({ name }) => name === "chat fake")).toMatchObject({ error: "engine_rejected" });
  expect(JSON.stringify(spans)).not.toContain(SECRET);
});

test("a run that is cancelled has not failed", async () => {
  const tracing = recordSpans();
  await using world = await openWorld();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield TEXT;
    await untilAborted(signal);
  });
  await world.startWorker(engine, { tracing });
  const ref = await world.submit();
  await world.until(ref, (events) => events.some(({ type }) => type === "output.delta"));
  const usage = { input_tokens: 1, output_tokens: 1 };
  await world.append(ref, { type: "generation.cancelled", reason: "requested", usage });
  const { run, spans } = await traceOf(world, tracing);
  expect(run).toMatchObject({ attributes: { "reprise.result": "stopped" }, error: undefined });
  expect(spans.find(({ name }) => name === "chat fake")).toMatchObject({
    attributes: { "reprise.result": "stopped" },
    error: undefined,
  });
});

test("a trace that delivery does not export is not exported by the worker", async () => {
  const tracing = recordSpans();
  await using world = await openWorld();
  await world.startWorker(
    createFakeEngine(() => says(TEXT, FINISH)),
    { tracing },
  );
  const ref = await world.submit({ traceparent: TRACEPARENT.replace(/01$/, "00") });
  await world.untilEnded(ref);
  await expect.poll(() => world.queuedJobs()).toBe(0);
  expect(tracing.spans).toEqual([]);
});

test("the span of a turn has what was asked and said where that is switched on, and the others do not", async () => {
  const tracing = recordSpans({ recordsContent: true });
  await using world = await openWorld();
  const engine = createFakeEngine(() =>
    says({ type: "reasoning", text: "Hm." }, TEXT, { type: "text", text: "!" }, FINISH),
  );
  await world.startWorker(engine, { tracing });
  const ref = await world.submit({ request: { input: "Say it." } });
  await world.untilEnded(ref);
  const { run, spans } = await traceOf(world, tracing);
  const { attributes = {} } = spans.find(({ name }) => name === "chat fake") ?? {};
  expect(JSON.parse(String(attributes["gen_ai.input.messages"]))).toEqual([
    { role: "user", parts: [{ type: "text", content: "Say it." }] },
  ]);
  expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
    {
      role: "assistant",
      parts: [
        { type: "reasoning", content: "Hm." },
        { type: "text", content: `${SECRET}!` },
      ],
    },
  ]);
  expect(JSON.stringify(run)).not.toContain(SECRET);
});

test("of what was asked a span has the texts, and of media no more than what they are", () => {
  const input = [
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", url: "data:image/png;base64,c2VjcmV0" },
      ],
    },
    {
      role: "assistant",
      content: "A log.",
      tool_calls: [{ call_id: "c", name: "look_up", arguments: "{}" }],
    },
  ];
  const attributes = TurnContent.ofRequest(parseGenerationRequest({ model: "m", input }));
  expect(JSON.parse(String(attributes[GEN_AI.inputMessages]))).toEqual([
    {
      role: "user",
      parts: [
        { type: "text", content: "What is this?" },
        { type: "blob", modality: "image" },
      ],
    },
    {
      role: "assistant",
      parts: [
        { type: "text", content: "A log." },
        { type: "text", content: "look_up" },
        { type: "text", content: "{}" },
      ],
    },
  ]);
});
