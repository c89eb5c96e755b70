import { Appender, appendDecision } from "@reprise/stream";
import { connectBroker, type Publish, watchConnection } from "@reprise/broker";
import { parseTenantId, type Transcript } from "@reprise/protocol";
import { startTcpProxy } from "@reprise/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { CANCELLED } from "../testing/drafts.ts";
import { createFakeEngine, createSilentEngine, untilAborted } from "../testing/fake-engines.ts";
import { openWorld, typesOf } from "../testing/world.ts";

test("a cancel lets go of an engine that is silent, and nothing follows it", async () => {
  await using world = await openWorld();
  const { engine, aborted } = createSilentEngine("and then");
  // No heartbeat comes within the test: what the worker does, it does because it follows its log.
  const worker = await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  await world.append(ref, CANCELLED);
  await aborted;
  await worker.close();
  expect(typesOf(await world.read(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "output.delta",
    "generation.cancelled",
  ]);
  expect((await world.read(ref))[1]).toMatchObject({ model: "fake", engine: "fake" });
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

test("a cancel that comes while the worker's connections are away is seen when both are back, in whatever order", async () => {
  await using world = await openWorld();
  const target = { port: world.server.port };
  await using mainWay = await startTcpProxy({ target });
  await using readsWay = await startTcpProxy({ target });
  await using first = await connectBroker({ url: `nats://127.0.0.1:${mainWay.port}`, name: "main" });
  await using second = await connectBroker({ url: `nats://127.0.0.1:${readsWay.port}`, name: "reads" });
  const { engine, aborted } = createSilentEngine("and then");
  // No heartbeat comes within the test.
  await world.startWorker(engine, { ackWaitMs: 600_000, main: first.main, reads: second.reads });
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  const mainIsBack = Promise.withResolvers<void>();
  watchConnection(first.main, { onUp: mainIsBack.resolve });
  for (const way of [mainWay, readsWay]) {
    way.setFaults({ toServer: { stalled: true }, toClient: { stalled: true } });
    way.cutNow();
  }
  await world.append(ref, CANCELLED);
  mainWay.setFaults({});
  await mainIsBack.promise;
  readsWay.setFaults({});
  await aborted;
});

test("a worker yields to a cancel that has lost to it, and only the run that the cancel is for", async () => {
  await using world = await openWorld();
  const go = Promise.withResolvers<void>();
  const yielded = vi.spyOn(Appender.prototype, "yield");
  onTestFinished(() => yielded.mockRestore());
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield { type: "text", text: "first" };
    await go.promise;
    yield { type: "text", text: "second" };
    await untilAborted(signal);
  });
  await world.startWorker(engine, { ackWaitMs: 600_000, slots: 2 });
  const [ref, other] = [await world.submit(), await world.submit()];
  for (const each of [ref, other]) await world.until(each, (events) => events.length === 3);
  const publishLate: Publish = async (...call) => {
    go.resolve();
    await world.until(ref, (events) => events.length >= 4);
    return world.log.publish(...call);
  };
  const decide = ({ ended }: Transcript) => (ended ? undefined : CANCELLED);
  world.log.requestYield({ ...ref, tenant: parseTenantId("beta") });
  await appendDecision({ ...world.log, publish: publishLate, ref, writer: "delivery", decide });
  await expect.poll(() => yielded.mock.contexts).toMatchObject([{ state: { kind: "fenced" } }]);
});
