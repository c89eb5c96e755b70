import {
  type EffectivePolicy,
  type EventDraft,
  type GenerationRef,
  isTerminal,
  RepriseError,
} from "@reprise/protocol";
import { expect, test } from "vitest";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { attemptsIn } from "../testing/drafts.ts";
import { createFakeEngine, untilAborted, createPausedSimulator, hasTokens } from "../testing/fake-engines.ts";
import { openWorld, textOf, typesOf } from "../testing/world.ts";

/** The strictest policy there is: a lost worker would be the end. No ack wait passes within a test. */
const STRICT: Partial<EffectivePolicy> = { max_attempts: 1, on_worker_loss: "fail" };
const HANDED_OVER = [
  [1, undefined],
  [2, "handover"],
];

const silent = () =>
  createFakeEngine(async function* (_request, { signal }) {
    yield* [];
    await untilAborted(signal);
  });

test("a worker that closes in mid-stream says so, and its generation continues though one attempt is all it has", async () => {
  await using world = await openWorld();
  const ref = await world.submit({
    policy: STRICT,
    options: { tokens: 60, tokens_per_second: 200, seed: 2 },
  });
  const engine = createPausedSimulator();
  engine.sayUpTo(10);
  const first = await world.startWorker(engine);
  await world.until(ref, hasTokens(10));
  const second = await world.startWorker(createSimEngine());
  await first.close();
  const events = await world.untilEnded(ref);
  expect(attemptsIn(events)).toEqual(HANDED_OVER);
  const end = events.findIndex(({ type }) => type === "attempt.ended");
  expect(events.slice(end, end + 2)).toMatchObject([
    { attempt: 1, reason: "handover" },
    { type: "generation.started", worker: second.id },
  ]);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: 60 } });
});

test("a worker that closes before the first token hands over too", async () => {
  await using world = await openWorld();
  const ref = await world.submit({ policy: STRICT, options: { tokens: 1 } });
  const first = await world.startWorker(silent());
  await world.until(ref, (events) => events.length === 2);
  await world.startWorker(createSimEngine());
  await first.close();
  expect(typesOf(await world.untilEnded(ref)).slice(1)).toEqual([
    "generation.started",
    "attempt.ended",
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
});

test("handed over from worker to worker, many generations at once lose nothing and say nothing twice", async () => {
  await using world = await openWorld();
  const options = { tokens: 400, tokens_per_second: 150, seed: 9 };
  const undisturbed = await world.submit({ options: { ...options, tokens_per_second: 0 } });
  const engine = createPausedSimulator();
  let worker = await world.startWorker(engine, { slots: 30 });
  const expected = textOf(await world.untilEnded(undisturbed));
  const refs: GenerationRef[] = [];
  // The first generations must not end while the last ones are created.
  engine.sayUpTo(100);
  for (let i = 0; i < 20; i++) refs.push(await world.submit({ options, policy: STRICT }));
  for (let round = 1; round <= 3; round++) {
    engine.sayUpTo(100 * round);
    for (const ref of refs)
      await world.until(ref, (events) => {
        expect(events.filter(({ type }) => isTerminal(type))).toEqual([]);
        return attemptsIn(events).length === round && hasTokens(50 * round)(events);
      });
    const next = await world.startWorker(engine, { slots: 30 });
    await worker.close();
    worker = next;
  }
  engine.sayUpTo(Number.POSITIVE_INFINITY);
  const reasons: unknown[] = [];
  for (const ref of refs) {
    const events = await world.untilEnded(ref);
    expect(textOf(events)).toBe(expected);
    expect(events.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: 400 } });
    reasons.push(
      ...attemptsIn(events)
        .slice(1)
        .map(([, reason]) => reason),
    );
  }
  expect(reasons).toHaveLength(3 * refs.length);
  expect(new Set(reasons)).toEqual(new Set(["handover"]));
});

/** Runs a generation by hand, and counts what is heard of its job. */
async function heardOf(world: Awaited<ReturnType<typeof openWorld>>, meanwhile: EventDraft | undefined) {
  const heard: string[] = [];
  const job = { release: () => void heard.push("release"), ack: async () => void heard.push("ack") };
  const handover = new AbortController();
  const ref = await world.submit();
  const run = world.run(ref, silent(), { job, handover: handover.signal });
  await world.until(ref, (events) => events.length === 2);
  if (meanwhile) await world.append(ref, meanwhile);
  handover.abort();
  return { result: await run, heard, events: await world.read(ref) };
}

test("a job that is handed over is given back once, and nothing else", async () => {
  await using world = await openWorld();
  const { result, heard, events } = await heardOf(world, undefined);
  expect(result).toBe("handed_over");
  expect(heard).toEqual(["release"]);
  expect(typesOf(events).slice(2)).toEqual(["attempt.ended"]);
});

test("a worker that is told to stop as its generation ends gives back no job, and writes nothing after the end", async () => {
  await using world = await openWorld();
  const { result, heard, events } = await heardOf(world, {
    type: "generation.cancelled",
    reason: "requested",
    usage: { input_tokens: null, output_tokens: 0 },
  });
  expect(result).toBe("stopped");
  expect(heard).toEqual(["ack"]);
  expect(typesOf(events).slice(2)).toEqual(["generation.cancelled"]);
});

test("what an engine has said to its end is not given up because the worker closes before it is stored", async () => {
  await using world = await openWorld();
  const said = Promise.withResolvers<void>();
  const storing = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* () {
    yield { type: "text", text: "All of it." };
    said.resolve();
    yield { type: "finish", reason: "stop" };
  });
  const publish: typeof world.log.publish = async (subject, payload, options) => {
    if (Buffer.from(payload).includes("output.delta")) await storing.promise;
    return world.log.publish(subject, payload, options);
  };
  const ref = await world.submit({ policy: STRICT });
  const handover = new AbortController();
  const run = world.run(ref, engine, { log: { ...world.log, publish }, handover: handover.signal });
  await said.promise;
  // The engine's end has been taken up by the next turn of the event loop; its text still waits for the broker.
  await new Promise((resolve) => setImmediate(resolve));
  handover.abort();
  storing.resolve();
  expect(await run).toBe("completed");
  expect(typesOf(await world.read(ref)).slice(1)).toEqual([
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
});

test("a worker that can't read its generation's log gives the job back, and is not taken for lost", async () => {
  await using world = await openWorld();
  const ref = await world.submit({ policy: STRICT, options: { tokens: 3 } });
  const away = new RepriseError("broker_unavailable", "The broker does not answer.");
  // Of a log that has outgrown its checkpoint the worker keeps no copy.
  const log = {
    ...world.log,
    maxCheckpointBytes: 1,
    reader: { ...world.log.reader, readLog: () => Promise.reject(away) },
  };
  await expect(world.run(ref, createSimEngine(), { log })).rejects.toBe(away);
  expect(await world.run(ref, createSimEngine())).toBe("completed");
  expect(attemptsIn(await world.read(ref))).toEqual(HANDED_OVER);
});
