import type { EventDraft, GenerationRef, Transcript } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { appendDecision } from "./append-decision.ts";
import { subscribeYieldRequests } from "./subscribe-yield-requests.ts";
import type { GenerationLog } from "../read/generation-log.ts";
import type { Publish } from "@reprise/broker";
import { createFaultyPublish, FATES } from "../testing/faulty-publish.ts";
import { denseSeqs, readBack, seqsOf } from "../testing/read-back.ts";
import {
  appendOne,
  appenderOf,
  cancelled,
  completed,
  delta,
  newRef,
  openWorld,
  openWorldToRollBack,
  requested,
  started,
  uniqueName,
  writeLog,
} from "../testing/world.ts";

const isTerminalEvent = ({ type }: { type: string }) =>
  ["generation.completed", "generation.cancelled"].includes(type);
const cancelUnlessEnded = (transcript: Transcript): EventDraft | undefined =>
  transcript.ended ? undefined : cancelled();

function cancel(log: GenerationLog, ref: GenerationRef, decide = cancelUnlessEnded) {
  return appendDecision({ ...log, ref, writer: uniqueName(), decide });
}

test("appends a decision to a log without a running writer", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await writeLog(world.log, ref, 3);
  const { appended, transcript } = await cancel(world.log, ref);
  expect([appended, transcript.status, transcript.text]).toEqual([true, "cancelled", "1 2 3 "]);
  expect((await readBack(world.log, ref)).at(-1)).toMatchObject({ seq: 4, type: "generation.cancelled" });
});

test("deciding the same twice appends it once, and both learn that it holds", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await writeLog(world.log, ref, 1);
  const decisions = [await cancel(world.log, ref), await cancel(world.log, ref)];
  expect(decisions.map(({ appended, transcript }) => [appended, transcript.status])).toEqual([
    [true, "cancelled"],
    [false, "cancelled"],
  ]);
  expect(await readBack(world.log, ref)).toHaveLength(3);
});

test("of twenty concurrent decisions one is appended", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await writeLog(world.log, ref, 1);
  const decisions = await Promise.all(Array.from({ length: 20 }, () => cancel(world.log, ref)));
  expect(decisions.filter(({ appended }) => appended)).toHaveLength(1);
  expect(decisions.every(({ transcript }) => transcript.status === "cancelled")).toBe(true);
  expect(await readBack(world.log, ref)).toHaveLength(3);
});

test("a decision about a log that is lost in the middle of it is made again, about what is left", async () => {
  await using world = await openWorldToRollBack();
  const ref = newRef();
  const writer = await writeLog(world.log, ref, 3);
  await world.server.snapshotStore();
  for (const text of ["4 ", "5 "]) await appendOne(writer, delta(text));
  let rollBack: (() => Promise<void>) | undefined = () => world.server.restoreStore();
  const publish: Publish = async (...call) => {
    await rollBack?.();
    rollBack = undefined;
    return world.log.publish(...call);
  };
  const { appended, transcript } = await cancel({ ...world.log, publish }, ref);
  expect([appended, transcript.status, transcript.text]).toEqual([true, "cancelled", "1 2 3 "]);
  const events = await readBack(world.log, ref);
  expect(seqsOf(events)).toEqual(denseSeqs(5));
  expect(events.filter(isTerminalEvent)).toHaveLength(1);
});

test("there is nothing to decide about a generation that does not exist", async () => {
  await using world = await openWorld();
  await expect(cancel(world.log, newRef())).rejects.toMatchObject({ code: "generation_not_found" });
});

test("another tenant's generation does not exist", async () => {
  await using world = await openWorld();
  const ref = newRef("acme");
  await writeLog(world.log, ref, 1);
  const foreign = { ...newRef("rival"), generation: ref.generation };
  await expect(cancel(world.log, foreign)).rejects.toMatchObject({ code: "generation_not_found" });
  expect(await readBack(world.log, ref)).toHaveLength(2);
});

test("a cancel gets through to a log that is written to at full speed, and the writer stops there", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const underWay = Promise.withResolvers<void>();
  const appender = appenderOf(world.log, ref, {
    isFence: isTerminalEvent,
    onStored: () => {
      appender.append(delta("x"));
      if (appender.head.seq === 20) underWay.resolve();
    },
  });
  appender.append(requested(ref));
  await underWay.promise;
  const { main } = world.broker;
  const onError = (error: unknown) => world.errors.push(error);
  subscribeYieldRequests(main, { onRequest: () => appender.yield(), onError });
  await main.flush();
  const { appended, transcript } = await cancel(world.log, ref);
  expect([appended, transcript.status]).toEqual([true, "cancelled"]);
  expect((await appender.settled()).kind).toBe("fenced");
  const events = await readBack(world.log, ref);
  expect(seqsOf(events)).toEqual(denseSeqs(events.length));
  expect(events.filter(isTerminalEvent)).toEqual([events.at(-1)]);
});

test("a cancel that races a completion has one winner, and both sides get what the log says", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(fc.nat(40), async (deltas) => {
      const ref = newRef();
      const appender = appenderOf(world.log, ref, { isFence: isTerminalEvent });
      await appendOne(appender, requested(ref));
      const deciding = cancel(world.log, ref);
      for (let i = 0; i < deltas && appender.state.kind === "open"; i++)
        await appendOne(appender, started(i + 1));
      await appendOne(appender, completed());
      const { appended, transcript } = await deciding;
      const ends = (await readBack(world.log, ref)).filter(isTerminalEvent);
      expect(ends).toHaveLength(1);
      expect(ends[0]!.type).toBe(appended ? "generation.cancelled" : "generation.completed");
      expect(appender.state.kind).toBe(appended ? "fenced" : "open");
      expect(transcript.status).toBe(appended ? "cancelled" : "completed");
    }),
    { numRuns: 30 },
  );
});

test("appends a decision exactly once, and reports that, when publishes and their answers are lost", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...FATES), { maxLength: 6 }), async (fates) => {
      const ref = newRef();
      await writeLog(world.log, ref, 1);
      const publish = createFaultyPublish(world.log.publish, (call) => fates[call] ?? "delivered");
      const { appended } = await cancel({ ...world.log, publish }, ref);
      const events = await readBack(world.log, ref);
      expect([appended, events.filter(isTerminalEvent).length, events.length]).toEqual([true, 1, 3]);
    }),
    { numRuns: 20 },
  );
});

test("a decision gives up when the broker does not answer within its budget", async () => {
  await using world = await openWorld();
  const ref = newRef();
  await writeLog(world.log, ref, 1);
  const publish = createFaultyPublish(world.log.publish, () => "lost");
  const options = {
    ...world.log,
    publish,
    ref,
    writer: uniqueName(),
    decide: cancelUnlessEnded,
    budgetMs: 200,
  };
  await expect(appendDecision(options)).rejects.toMatchObject({ code: "broker_unavailable" });
});
