import type { EffectiveTimeouts } from "@reprise/protocol";
import { expect, test, vi } from "vitest";
import type { EngineEvent, GenerateOptions, Prefix } from "../engines/engine.ts";
import { attemptsIn, called, started } from "../testing/drafts.ts";
import { createFakeEngine, untilAborted } from "../testing/fake-engines.ts";
import { openWorld, textOf, typesOf } from "../testing/world.ts";

const text = (piece: string): EngineEvent => ({ type: "text", text: piece });
const FINISH: EngineEvent = { type: "finish", reason: "stop" };
const LIMIT_MS = 100;

/** A policy whose one timeout strikes soon. */
function soon<Name extends keyof EffectiveTimeouts>(name: Name, answer: EffectiveTimeouts[Name]["answer"]) {
  return { timeouts: { [name]: { after_ms: LIMIT_MS, answer } } };
}

/** An engine that does one thing for each time it is asked; the last one for all further times. */
function engineOf(
  turns: readonly ((options: GenerateOptions) => AsyncIterable<EngineEvent>)[],
  canContinue = false,
  servers = 2,
) {
  const prefixes: Prefix[] = [];
  const engine = createFakeEngine(
    (_request, options) => {
      prefixes.push(options.prefix);
      return turns[Math.min(prefixes.length, turns.length) - 1]!(options);
    },
    { canContinue: () => canContinue, servers },
  );
  return { engine, prefixes };
}

async function* silent({ signal }: GenerateOptions): AsyncGenerator<EngineEvent> {
  yield* [];
  await untilAborted(signal);
}

async function* stuckBehind(said: string, { signal }: GenerateOptions): AsyncGenerator<EngineEvent> {
  yield text(said);
  await untilAborted(signal);
}

async function* says(said: string): AsyncGenerator<EngineEvent> {
  yield text(said);
  yield FINISH;
}

test("an engine that does not begin in time gets a further attempt in the same worker", async () => {
  await using world = await openWorld();
  const { engine } = engineOf([silent, () => says("at last")]);
  const ref = await world.submit({ policy: soon("first_token", "retry") });
  const worker = await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(events.slice(1)).toMatchObject([
    { type: "generation.started", attempt: 1, worker: worker.id },
    { type: "attempt.ended", attempt: 1, reason: "timeout" },
    { type: "generation.started", attempt: 2, reason: "timeout", worker: worker.id },
    { type: "output.delta", text: "at last" },
    { type: "generation.completed", finish_reason: "stop", usage: { output_tokens: 1 } },
  ]);
  expect(await world.jobDeliveries()).toBe(1);
});

test("an engine that never begins uses up all attempts, and its slot is free again", async () => {
  await using world = await openWorld();
  const { engine, prefixes } = engineOf([silent, silent, () => says("next")]);
  const ref = await world.submit({ policy: { ...soon("first_token", "retry"), max_attempts: 2 } });
  const next = await world.submit();
  await world.startWorker(engine, { slots: 1 });
  const events = await world.untilEnded(ref);
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "timeout"],
  ]);
  expect(events.at(-1)).toMatchObject({
    type: "generation.failed",
    error: { code: "first_token_timeout", message: expect.stringContaining(`${LIMIT_MS} ms`) },
  });
  expect(textOf(await world.untilEnded(next))).toBe("next");
  expect(prefixes).toHaveLength(3);
  await expect.poll(() => world.queuedJobs()).toBe(0);
});

test("an engine that falls silent continues after what it has said, where it can", async () => {
  await using world = await openWorld();
  const { engine, prefixes } = engineOf([(run) => stuckBehind("Once ", run), () => says("upon")], true);
  const ref = await world.submit({ policy: soon("between_tokens", "retry") });
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(typesOf(events).slice(2)).toEqual([
    "output.delta",
    "attempt.ended",
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
  expect(textOf(events)).toBe("Once upon");
  expect(prefixes[1]).toEqual({ text: "Once ", tokens: 1 });
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 2 } });
});

test.each(["first_token", "between_tokens"] as const)(
  "a %s timeout that completes leaves what there is, counted, as the whole",
  async (name) => {
    await using world = await openWorld();
    const said = { first_token: silent, between_tokens: (run: GenerateOptions) => stuckBehind("Once ", run) };
    const { engine } = engineOf([said[name]]);
    const ref = await world.submit({ policy: soon(name, "complete") });
    await world.startWorker(engine);
    const events = await world.untilEnded(ref);
    const shown = { first_token: "", between_tokens: "Once " }[name];
    expect(textOf(events)).toBe(shown);
    expect(events.at(-1)).toEqual({
      seq: events.length - 1,
      type: "generation.completed",
      finish_reason: "timeout",
      // "Say something." is about 4 tokens.
      usage: { input_tokens: 4, estimated_input_tokens: 4, output_tokens: shown === "" ? 0 : 1 },
    });
  },
);

test.each([
  ["fail", { type: "generation.failed", error: { code: "total_timeout" } }],
  ["complete", { type: "generation.completed", finish_reason: "timeout" }],
] as const)("a generation whose time is over ends, however busy its engine is: %s", async (answer, end) => {
  await using world = await openWorld();
  using now = vi.spyOn(Date, "now").mockReturnValue(Date.now());
  let letGo = false;
  const { engine } = engineOf([
    async function* ({ signal }) {
      signal.addEventListener("abort", () => (letGo = true));
      for (; !signal.aborted;) {
        yield text("and ");
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  ]);
  await world.startWorker(engine);
  const ref = await world.submit({ policy: soon("total", answer) });
  // However long it takes the machine, the generation's time is not over before the engine has begun.
  await world.until(ref, (events) => textOf(events) !== "");
  now.mockRestore();
  const events = await world.untilEnded(ref);
  expect(events.at(-1)).toMatchObject(end);
  expect(textOf(events)).toMatch(/^(and )+$/);
  expect(letGo).toBe(true);
});

test("the total time of a generation begins with its create and includes takeovers", async () => {
  await using world = await openWorld();
  const { engine, prefixes } = engineOf([silent]);
  const ref = await world.submit({ policy: soon("total", "fail"), history: [started(1), called("a")] });
  await world.startWorker(engine);
  expect((await world.untilEnded(ref)).at(-1)).toMatchObject({ error: { code: "total_timeout" } });
  expect(prefixes).toEqual([]);
});

test.each(["first_token", "between_tokens"] as const)(
  "an engine that is silent for longer than %s is reported, and one that answers too",
  async (name) => {
    await using world = await openWorld();
    const stuck = name === "first_token" ? silent : (options: GenerateOptions) => stuckBehind("a", options);
    const { engine } = engineOf([stuck, () => says("b")], true);
    const ref = await world.submit({ policy: soon(name, "retry") });
    const told: unknown[] = [];
    await world.run(ref, engine, {
      onEngineReport: (report) => told.push("silentMs" in report ? report.silentMs : report),
      onEngineAnswered: (model) => told.push(model),
    });
    expect(told).toEqual([LIMIT_MS, expect.any(String)]);
  },
);
