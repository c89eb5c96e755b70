import { RepriseError } from "@reprise/protocol";
import { createMetrics } from "@reprise/runtime";
import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../../engines/engine.ts";
import { answered } from "../../testing/drafts.ts";
import { EngineError } from "../../engines/engine-error.ts";
import { createFakeEngine, untilAborted } from "../../testing/fake-engines.ts";
import { openWorld, type World } from "../../testing/world.ts";
import { WorkerMetrics } from "./worker-metrics.ts";

const TEXT: EngineEvent = { type: "text", text: "a " };
const FINISH: EngineEvent = {
  type: "finish",
  reason: "stop",
  usage: { input_tokens: 5, output_tokens: 7 },
};
const CALL: EngineEvent = { type: "tool_call", callId: "c", name: "look_up", arguments: "{}" };

async function* says(...events: EngineEvent[]) {
  yield* events;
}

function openMetrics() {
  const metrics = createMetrics({ processMetrics: false });
  /** The series of a metric with their values, by the labels that were asked for. */
  const series = async (name: string, ...labels: string[]) => {
    const lines = (await metrics.render()).matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, "gm"));
    return Object.fromEntries(
      [...lines].map(([, all = "", value]) => [
        labels.map((label) => new RegExp(`${label}="(.*?)"`).exec(all)?.[1]).join(" "),
        Number(value),
      ]),
    );
  };
  return { metrics, series };
}

const untilIdle = (world: World) => expect.poll(() => world.queuedJobs()).toBe(0);

test("a run that completes is counted once, with its wait in the queue, its engine's times and its tokens", async () => {
  const { metrics, series } = openMetrics();
  await using world = await openWorld();
  await world.startWorker(
    createFakeEngine(() => says(TEXT, TEXT, TEXT, FINISH)),
    { metrics },
  );
  await world.untilEnded(await world.submit());
  await untilIdle(world);
  await expect.poll(() => series("reprise_runs_total", "model", "result")).toEqual({ "fake completed": 1 });
  expect(await series("reprise_attempts_total", "result")).toEqual({ completed: 1 });
  expect(await series("reprise_queue_wait_seconds_count", "model")).toEqual({ fake: 1 });
  expect(await series("reprise_timeouts_total", "timeout")).toEqual({});
  const GEN_AI = "gen_ai_client_operation";
  const labels = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"];
  expect(await series(`${GEN_AI}_time_to_first_chunk_seconds_count`, ...labels)).toEqual({
    "chat fake fake": 1,
  });
  // The end of the answer is a chunk too.
  expect(await series(`${GEN_AI}_time_per_output_chunk_seconds_count`, ...labels)).toEqual({
    "chat fake fake": 3,
  });
  expect(await series(`${GEN_AI}_duration_seconds_count`, "error_type")).toEqual({ "": 1 });
  expect(await series("gen_ai_client_token_usage_sum", "gen_ai_token_type")).toEqual({ input: 5, output: 7 });
  expect(await series("reprise_engine_time_per_output_token_seconds_count", "engine")).toEqual({ fake: 1 });
  expect(await series("reprise_checkpoints_total", "result")).toEqual({ stored: 1 });
  expect(await metrics.render()).toMatch(/^reprise_engine_to_stored_seconds_count [3-5]$/m);
  expect((await series("reprise_append_seconds_count", "result"))["stored"]).toBeGreaterThanOrEqual(3);
});

test("an engine that fails has an error's code, one that is silent its timeout", async () => {
  const { metrics, series } = openMetrics();
  await using world = await openWorld();
  let runs = 0;
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield TEXT;
    if (runs++ === 0) throw new RepriseError("engine_rejected", "no");
    await untilAborted(signal);
  });
  await world.startWorker(engine, { metrics });
  await world.untilEnded(await world.submit());
  const between_tokens = { after_ms: 20, answer: "fail" } as const;
  await world.untilEnded(await world.submit({ policy: { timeouts: { between_tokens } } }));
  await untilIdle(world);
  expect(await series("reprise_attempts_total", "result")).toEqual({ failed: 2 });
  expect(await series("reprise_timeouts_total", "model", "timeout")).toEqual({ "fake between_tokens": 1 });
  expect(await series("gen_ai_client_operation_duration_seconds_count", "error_type")).toEqual({
    engine_rejected: 1,
    between_tokens_timeout: 1,
  });
  expect(await series("gen_ai_client_token_usage_sum", "gen_ai_token_type")).toMatchObject({ output: 2 });
});

test("a run that another process ends is fenced: it has stopped, and its tokens count", async () => {
  const { metrics, series } = openMetrics();
  await using world = await openWorld();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield TEXT;
    await untilAborted(signal);
  });
  await world.startWorker(engine, { metrics });
  const ref = await world.submit();
  await world.until(ref, (events) => events.some(({ type }) => type === "output.delta"));
  const usage = { input_tokens: 3, output_tokens: 1 };
  await world.append(ref, { type: "generation.cancelled", reason: "requested", usage });
  await expect.poll(() => series("reprise_runs_total", "result")).toEqual({ stopped: 1 });
  expect(await series("reprise_attempts_total", "result")).toEqual({ stopped: 1 });
  expect(await series("gen_ai_client_token_usage_sum", "gen_ai_token_type")).toEqual({ input: 3, output: 1 });
  expect(await series("gen_ai_client_operation_duration_seconds_count", "error_type")).toEqual({
    cancelled: 1,
  });
});

test("the tokens of all turns and attempts are those of the end, which are billed", async () => {
  const { metrics, series } = openMetrics();
  await using world = await openWorld();
  let turns = 0;
  const engine = createFakeEngine(async function* () {
    yield TEXT;
    turns++;
    if (turns === 1) {
      yield CALL;
      yield { type: "finish", reason: "tool_calls", usage: { input_tokens: 10, output_tokens: 4 } };
    } else if (turns === 2) throw new EngineError("engine_failed", "It has broken.", { retry: "broken" });
    else yield { type: "finish", reason: "stop", usage: { input_tokens: 20, output_tokens: 6 } };
  });
  await world.startWorker(engine, { metrics });
  const ref = await world.submit({ policy: { max_attempts: 2 } });
  await world.until(ref, (events) => events.some(({ type }) => type === "tool.call"));
  await world.append(ref, answered("c"));
  const end = (await world.untilEnded(ref)).at(-1);
  await untilIdle(world);
  const { usage } = end as { usage: { input_tokens: number; output_tokens: number } };
  expect(await series("gen_ai_client_token_usage_sum", "gen_ai_token_type")).toEqual({
    input: usage.input_tokens,
    output: usage.output_tokens,
  });
});

test("an end has the label of whose fault it is", async () => {
  const { metrics, series } = openMetrics();
  await using world = await openWorld();
  const failures = [
    new RepriseError("budget_exceeded", "spent"),
    new EngineError("engine_rejected", "no key", { retry: "never" }),
    new EngineError("engine_rejected", "too long", { retry: "never", isRequests: true }),
    new RepriseError("internal", "defect"),
  ];
  const engine = createFakeEngine(async function* () {
    const failure = failures.pop();
    if (failure) throw failure;
    yield TEXT;
    yield FINISH;
  });
  await world.startWorker(engine, { metrics });
  for (let ended = 0; ended < 5; ended++) await world.untilEnded(await world.submit());
  await untilIdle(world);
  expect(await series("reprise_generations_ended_total", "status", "fault")).toEqual({
    "failed platform": 1,
    "failed client": 1,
    "failed engine": 1,
    "failed tenant": 1,
    "completed none": 1,
  });
});

describe("slots", () => {
  test("are used while the engine runs, not while a generation waits for a tool, and their time is counted", async () => {
    const { metrics, series } = openMetrics();
    await using world = await openWorld();
    const goOn = Promise.withResolvers<void>();
    let turns = 0;
    const engine = createFakeEngine(async function* () {
      yield TEXT;
      if (turns++ === 0) {
        yield CALL;
        yield { type: "finish", reason: "tool_calls" };
        return;
      }
      await goOn.promise;
      yield FINISH;
    });
    const begunMs = performance.now();
    await world.startWorker(engine, { metrics, slots: 3 });
    const slotSeconds = async () => (await series("reprise_slot_seconds_total", "model"))["fake"];
    const used = (count: number) =>
      expect.poll(() => series("reprise_slots_used", "model", "engine")).toEqual({ "fake fake": count });
    await used(0);
    expect(await series("reprise_slots", "model", "engine")).toEqual({ "fake fake": 3 });
    const ref = await world.submit();
    await world.until(ref, (events) => events.some(({ type }) => type === "tool.call"));
    await used(0);
    await world.append(ref, answered("c"));
    await used(1);
    await expect.poll(slotSeconds).toBeGreaterThan(0);
    goOn.resolve();
    await world.untilEnded(ref);
    await used(0);
    // One slot is used for no longer than the test runs.
    expect(await slotSeconds()).toBeLessThanOrEqual((performance.now() - begunMs) / 1_000);
  });
});

test("the longest wait for an engine is one after its first chunk", () => {
  const timing = new WorkerMetrics(createMetrics({ processMetrics: false })).turn("m", "sim");
  expect(timing.longestWaitMs).toBe(0);
  for (const waitedMs of [9_000, 5, 2_500, 10]) timing.arrived(waitedMs);
  expect(timing.longestWaitMs).toBe(2_500);
});
