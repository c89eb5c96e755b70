import {
  asSeq,
  asStreamSeq,
  asUnixMs,
  DEFAULT_POLICY,
  type EffectiveTimeouts,
  type EventDraft,
  OPTIONAL_EVENTS,
  RepriseError,
} from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Engine, type EngineEvent, EngineSilence, NO_PROGRESS } from "../../engines/engine.ts";
import { EngineError } from "../../engines/engine-error.ts";
import type { Pace } from "../pace.ts";
import { type EngineRun, runEngine } from "./run-engine.ts";
import { createFakeEngine, untilAborted } from "../../testing/fake-engines.ts";

/* In virtual time, without a broker: what is the engine's silence and what is not. */

const text = (piece: string): EngineEvent => ({ type: "text", text: piece });
const FINISH: EngineEvent = { type: "finish", reason: "stop" };
const TIMEOUTS: EffectiveTimeouts = {
  ...DEFAULT_POLICY.timeouts,
  first_token: { after_ms: 1_000, answer: "retry" },
  between_tokens: { after_ms: 100, answer: "retry" },
};

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function start(
  generate: Engine["generate"],
  {
    hold = () => undefined,
    backlog = 0,
    settled = async () => undefined,
    ...run
  }: Partial<EngineRun> &
    Partial<Pick<Pace, "hold">> & { backlog?: number; settled?: () => Promise<void> } = {},
) {
  const appended: EventDraft[] = [];
  const outcome = runEngine({
    engine: createFakeEngine(generate),
    request: { get: () => ({ model: "fake", input: "Hi" }), release: () => undefined },
    turn: NO_PROGRESS,
    timeouts: TIMEOUTS,
    totalAtMs: asUnixMs(60_000),
    signal: new AbortController().signal,
    ...run,
    appender: {
      append: (draft) => appended.push(draft),
      backlog,
      head: { seq: asSeq(appended.length), streamSeq: asStreamSeq(1), payload: Buffer.alloc(0) },
      async settled() {
        await settled();
        return { kind: "open" };
      },
    },
    throttle: { said: () => undefined, hold },
  });
  return { appended, outcome };
}

test("an engine that is silent for too long is let go of, and what it has said counts", async () => {
  let letGoAtMs: number | undefined;
  let letGoBecause: unknown;
  const { appended, outcome } = start(async function* (_request, { signal }) {
    signal.addEventListener("abort", () => {
      letGoAtMs = Date.now();
      letGoBecause = signal.reason;
    });
    yield { type: "text", text: "two words", tokens: 2 };
    await untilAborted(signal);
  });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await outcome).toEqual({ kind: "timeout", name: "between_tokens", counted: 2 });
  expect(letGoAtMs).toBe(100);
  expect(letGoBecause).toEqual(new EngineSilence(100));
  expect(appended).toEqual([{ type: "output.delta", text: "two words", tokens: 2 }]);
});

test("text that was under way when the run is stopped is not appended: there may be no going on after it", async () => {
  const stop = new AbortController();
  const underWay = Promise.withResolvers<void>();
  const { appended, outcome } = start(
    async function* () {
      yield text("a");
      await underWay.promise;
      yield text("b ");
    },
    { signal: stop.signal },
  );
  await vi.advanceTimersByTimeAsync(1);
  stop.abort();
  underWay.resolve();
  expect(await outcome).toEqual({ kind: "stopped", counted: 1 });
  expect(appended).toEqual([{ type: "output.delta", text: "a" }]);
});

test("an engine that speaks again after its last word can be stopped, and its silence is its own", async () => {
  for (const isStopped of [true, false]) {
    const stop = new AbortController();
    const { outcome } = start(
      async function* (_request, { signal, onFinished, onResumed }) {
        yield text("a");
        onFinished?.();
        onResumed?.();
        yield text("b");
        await untilAborted(signal);
      },
      { signal: stop.signal },
    );
    await vi.advanceTimersByTimeAsync(1);
    if (isStopped) stop.abort();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await outcome).toEqual(
      isStopped ? { kind: "stopped", counted: 2 } : { kind: "timeout", name: "between_tokens", counted: 2 },
    );
  }
});

test("text is not held for more while the engine waits for its readers, who need that text to come closer", async () => {
  const settled = vi.fn(async () => undefined);
  const { outcome } = start(
    async function* () {
      yield text("a");
      yield text("b");
      yield FINISH;
    },
    { hold: () => (settled.mock.calls.length === 0 ? pause(10) : undefined), settled },
  );
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcome).toMatchObject({ kind: "finished", counted: 2 });
  expect(settled).toHaveBeenCalledTimes(1);
});

test("a broker that is away, or a reader that sets the pace, is not the engine's silence", async () => {
  const held = Promise.withResolvers<void>();
  let holds = 0;
  const { outcome } = start(
    async function* () {
      yield text("a");
      yield text("b");
      yield FINISH;
    },
    { hold: () => (holds++ === 0 ? held.promise : undefined) },
  );
  await vi.advanceTimersByTimeAsync(30_000);
  held.resolve();
  expect(await outcome).toMatchObject({ kind: "finished", counted: 2 });
});

test.each<EngineEvent>([
  text("a"),
  { type: "summary", text: "Thinks." },
  { type: "sealed", encrypted: "c2VhbGVk" },
])("an engine that is far ahead of the log waits after $type", async (said) => {
  const stored = Promise.withResolvers<void>();
  let asked = 0;
  const { outcome } = start(
    async function* () {
      asked++;
      yield said;
      asked++;
      yield FINISH;
    },
    { backlog: 1_000_000, settled: () => stored.promise, emits: new Set(OPTIONAL_EVENTS) },
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toBe(1);
  stored.resolve();
  expect(await outcome).toMatchObject({ kind: "finished" });
});

test("tokens of summaries count as reasoning where a run does not finish, and are in the log and told to what limits it", async () => {
  const told: number[] = [];
  const { appended, outcome } = start(
    async function* (_request, { signal }) {
      yield { type: "summary", text: "Thinks.", part: 1, tokens: 5 };
      yield { type: "summary", text: " Hard." };
      await untilAborted(signal);
    },
    {
      emits: new Set(OPTIONAL_EVENTS),
      timing: { arrived: () => undefined, firstChunk: (n) => told.push(n) },
    },
  );
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await outcome).toEqual({ kind: "timeout", name: "between_tokens", counted: 6 });
  expect(appended).toEqual([
    { type: "reasoning.summary.delta", text: "Thinks.", part: 1, tokens: 5 },
    { type: "reasoning.summary.delta", text: " Hard.", tokens: 1 },
  ]);
  expect(told).toEqual([5]);
});

test("an engine that is held is let go of when the generation's time is over", async () => {
  const { outcome } = start(
    async function* () {
      yield text("a");
      yield FINISH;
    },
    { hold: (signal) => untilAborted(signal).catch(() => undefined) },
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toEqual({ kind: "timeout", name: "total", counted: 1 });
});

test("a tool call that is long in the making is no silence, as long as its pieces come", async () => {
  const { outcome } = start(async function* (_request, { onPiece }) {
    for (let i = 0; i < 50; i++) {
      await pause(90);
      onPiece?.();
    }
    yield { type: "tool_call", callId: "a", name: "look_up", arguments: "{}" };
    yield { type: "finish", reason: "tool_calls" };
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await outcome).toMatchObject({ kind: "finished", reason: "tool_calls", calls: [{ callId: "a" }] });
});

test("readers that set the pace hold up text, and no tool call after the engine's finish", async () => {
  const { outcome } = start(
    async function* (_request, { onFinished }) {
      onFinished?.();
      yield { type: "tool_call", callId: "a", name: "look_up", arguments: "{}" };
      yield { type: "finish", reason: "tool_calls" };
    },
    { hold: (signal) => untilAborted(signal).catch(() => undefined) },
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await Promise.race([outcome, Promise.resolve("held")])).toMatchObject({
    kind: "finished",
    calls: [{ callId: "a" }],
  });
});

test("an engine that stops in the middle of a tool call is silent", async () => {
  const { outcome } = start(async function* (_request, { onPiece, signal }) {
    await pause(500);
    onPiece?.();
    await untilAborted(signal);
    yield* [];
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await outcome).toEqual({ kind: "timeout", name: "between_tokens", counted: 0 });
});

test("a stop takes precedence over a timeout at the same moment", async () => {
  const stop = new AbortController();
  const { outcome } = start(
    async function* (_request, { signal }) {
      signal.addEventListener("abort", () => stop.abort());
      yield* [];
      await untilAborted(signal);
    },
    { signal: stop.signal },
  );
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await outcome).toEqual({ kind: "stopped", counted: 0 });
});

const busy = (retryAfterMs?: number) =>
  new EngineError("engine_unavailable", "The engine answered 503.", { retry: "busy", retryAfterMs });

/** An engine that is busy the first `times` times, and the times of its requests. */
function busyEngine(times: number, retryAfterMs?: number) {
  const askedAtMs: number[] = [];
  const generate: Engine["generate"] = async function* () {
    askedAtMs.push(Date.now());
    if (askedAtMs.length <= times) throw busy(retryAfterMs);
    yield text("a");
    yield FINISH;
  };
  return { askedAtMs, generate };
}
const PATIENT: EffectiveTimeouts = { ...TIMEOUTS, first_token: { after_ms: 20_000, answer: "retry" } };

test("a busy engine is asked again when it wants to be, within the time for the first token", async () => {
  const { askedAtMs, generate } = busyEngine(2, 3_000);
  const { outcome } = start(generate, { timeouts: PATIENT, random: () => 1 });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await outcome).toMatchObject({ kind: "finished", counted: 1 });
  expect(askedAtMs).toEqual([0, 3_500, 7_000]);
});

test("a busy engine that names no time is asked less and less often", async () => {
  const { askedAtMs, generate } = busyEngine(4);
  const { outcome } = start(generate, { timeouts: PATIENT, random: () => 1 });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await outcome).toMatchObject({ kind: "finished" });
  expect(askedAtMs).toEqual([0, 500, 1_500, 3_500, 7_500]);
});

test("a busy engine that wants longer than the policy has fails the run at once", async () => {
  const { askedAtMs, generate } = busyEngine(9, 60_000);
  const { outcome } = start(generate, { timeouts: PATIENT });
  expect(await outcome).toMatchObject({
    kind: "failed",
    error: { code: "engine_unavailable", retryAfterMs: 60_000 },
  });
  expect(askedAtMs).toEqual([0]);
});

test("a busy engine is not waited for where a fallback exists", async () => {
  const { outcome } = start(busyEngine(9, 10).generate, { timeouts: PATIENT, waitsWhileBusy: false });
  expect(await outcome).toMatchObject({ kind: "failed" });
});

test("a wait for a busy engine ends with the run", async () => {
  const stop = new AbortController();
  const { outcome } = start(busyEngine(9, 10_000).generate, { timeouts: PATIENT, signal: stop.signal });
  await vi.advanceTimersByTimeAsync(1_000);
  stop.abort();
  expect(await outcome).toEqual({ kind: "stopped", counted: 0 });
});

const brokerAway = () => new RepriseError("broker_unavailable", "The broker does not answer.");

test("a broker that does not give what the request needs is asked again, and that is not the engine's silence", async () => {
  let asked = 0;
  const { outcome } = start(
    async function* () {
      // The content that the request names can't be read, twice.
      if (asked++ < 2) throw brokerAway();
      yield text("a");
      yield FINISH;
    },
    {
      // Five times as long as an engine may be silent.
      prepare: async () => {
        if (Date.now() < 5_000) throw brokerAway();
      },
      // The longest delays of six tries would take more than the time that the broker is given.
      random: () => 0,
      waitsWhileBusy: false,
    },
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toMatchObject({ kind: "finished", counted: 1 });
  expect(asked).toBe(3);
});

test("a broker that is away for longer than that ends the run, and not the generation", async () => {
  const { outcome } = start(
    async function* () {
      yield FINISH;
    },
    { prepare: () => Promise.reject(brokerAway()), random: () => 1 },
  );
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toMatchObject({
    kind: "unprepared",
    error: { code: "broker_unavailable" },
    counted: 0,
  });
});

test("what is wrong with a prompt for good fails the run at once", async () => {
  const erased = new RepriseError("generation_erased", "This generation was erased.");
  const { outcome } = start(busyEngine(0).generate, { prepare: () => Promise.reject(erased) });
  expect(await outcome).toEqual({ kind: "failed", error: erased, counted: 0 });
});

test("an engine that has finished its text is not late, however long its usage takes", async () => {
  const { outcome } = start(async function* (_request, { onFinished }) {
    yield text("a");
    onFinished?.();
    await pause(1_000);
    yield FINISH;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await outcome).toMatchObject({ kind: "finished", reason: "stop", counted: 1 });
});

test("an engine that has said its last word is not stopped: its usage still comes", async () => {
  const stop = new AbortController();
  const { outcome } = start(
    async function* (_request, { onFinished, signal }) {
      yield text("a");
      onFinished?.();
      stop.abort();
      await Promise.race([pause(200), untilAborted(signal)]);
      yield FINISH;
    },
    { signal: stop.signal },
  );
  await vi.advanceTimersByTimeAsync(200);
  expect(await outcome).toMatchObject({ kind: "finished", reason: "stop", counted: 1 });
});

test("an engine that listens is not late, and input that it leaves is let go of", async () => {
  let inputSignal: AbortSignal | undefined;
  const { outcome } = start(
    async function* (_request, { input }) {
      const next = input![Symbol.asyncIterator]().next();
      next.catch(() => undefined);
      yield text("a");
      await pause(5_000);
      yield { type: "finish", reason: "stop" };
    },
    {
      async *input(signal) {
        inputSignal = signal;
        yield await untilAborted(signal);
      },
    },
  );
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await outcome).toMatchObject({ kind: "finished", reason: "stop" });
  expect(inputSignal!.aborted).toBe(true);
});
