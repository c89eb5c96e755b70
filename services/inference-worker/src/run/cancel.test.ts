import { expect, test } from "vitest";
import { CANCELLED } from "../testing/drafts.ts";
import { createFakeEngine, untilAborted } from "../testing/fake-engine.ts";
import { openWorld, typesOf } from "../testing/world.ts";

test("a cancel lets go of an engine that is silent, and nothing follows it", async () => {
  await using world = await openWorld();
  const aborted = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    signal.addEventListener("abort", () => aborted.resolve());
    yield { type: "text", text: "and then" };
    await untilAborted(signal);
  });
  // No heartbeat comes within the test: what the worker does, it does because it follows its log.
  const worker = await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  await world.append(ref, CANCELLED);
  await aborted.promise;
  await worker.close();
  expect(typesOf(await world.read(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "output.delta",
    "generation.cancelled",
  ]);
  expect(await world.queuedJobs()).toBe(0);
});

test("what an engine says after a cancel is not appended, even if it does not stop", async () => {
  await using world = await openWorld();
  const aborted = Promise.withResolvers<void>();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    signal.addEventListener("abort", () => aborted.resolve());
    await aborted.promise;
    for (let i = 0; i < 100; i++) yield { type: "text", text: "too late " };
    yield { type: "finish", reason: "stop" };
  });
  const worker = await world.startWorker(engine);
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 2);
  await world.append(ref, CANCELLED);
  await worker.close();
  expect(typesOf(await world.read(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "generation.cancelled",
  ]);
});

test("an engine's error that a cancel brings about is not the generation's end", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield* [];
    await untilAborted(signal).catch(() => {
      throw new Error("the upstream socket was closed");
    });
  });
  const worker = await world.startWorker(engine);
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 2);
  await world.append(ref, CANCELLED);
  await worker.close();
  expect((await world.read(ref)).at(-1)).toMatchObject({ seq: 2, type: "generation.cancelled" });
});

test("a generation that was cancelled before a worker had it never meets an engine", async () => {
  await using world = await openWorld();
  let asked = 0;
  const engine = createFakeEngine(async function* () {
    asked++;
    yield { type: "finish", reason: "stop" };
  });
  const cancelled = await world.submit({ history: [CANCELLED] });
  const other = await world.submit();
  await world.startWorker(engine, { slots: 1 });
  await world.untilEnded(other);
  await expect.poll(() => world.queuedJobs()).toBe(0);
  expect(typesOf(await world.read(cancelled))).toEqual(["generation.requested", "generation.cancelled"]);
  expect(asked).toBe(1);
});
