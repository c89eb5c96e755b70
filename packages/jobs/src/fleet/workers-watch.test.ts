import { asSeq, encodeEvent, parseTenantId, slotsSubject } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { newRef, openWorld, requested, type World } from "@reprise/stream/testing";
import { enqueueJob } from "../queue/enqueue-job.ts";
import type { Job } from "../queue/job.ts";
import { formatAnnouncement } from "../shares/slots-announcement.ts";
import { pullJobs } from "../queue/pull-jobs.ts";
import { WorkersWatch } from "./workers-watch.ts";

const MODEL = "org/model-1.5";
const acme = parseTenantId("acme");
const NONE = { workers: 0, held: 0 };

async function watching(world: World) {
  const watch = new WorkersWatch({
    connection: world.broker.main,
    onError: (error) => world.errors.push(error),
  });
  await world.broker.main.flush();
  return { watch, [Symbol.dispose]: () => watch.stop() };
}

function announce(world: World, worker: string, slots: number, running: number, held?: number) {
  const text = formatAnnouncement({ worker, slots, running: new Map([[acme, running]]), held });
  world.broker.reads.publish(slotsSubject(MODEL), text);
}

test("tells of a real worker and the jobs that it has", async () => {
  await using world = await openWorld();
  using heard = await watching(world);
  const jobs: Job[] = [];
  const ended = Promise.withResolvers<void>();
  const puller = await pullJobs({
    connection: world.broker.bulk,
    model: MODEL,
    slots: 3,
    ackWaitMs: 60_000,
    contextTokens: () => 4_096,
    onError: (error) => world.errors.push(error),
    async run(job) {
      if (jobs.push(job) === 1) job.park();
      await ended.promise;
      await job.ack();
    },
  });
  await eventually(() => expect(heard.watch.read(MODEL)).toEqual({ workers: 1, held: 0 }));
  expect(heard.watch.contextTokensOf(MODEL)).toBe(4_096);
  for (let i = 0; i < 2; i++) {
    const ref = newRef();
    await enqueueJob(world.log.publish, {
      model: MODEL,
      ref,
      payload: encodeEvent(asSeq(0), requested(ref)),
    });
  }
  await eventually(() => expect(heard.watch.read(MODEL)).toEqual({ workers: 1, held: 2 }));
  ended.resolve();
  await eventually(() => expect(heard.watch.read(MODEL)).toEqual({ workers: 1, held: 0 }));
  puller.stop();
  await eventually(() => expect(heard.watch.read(MODEL)).toEqual(NONE));
  expect(heard.watch.read("another")).toEqual(NONE);
  expect(world.errors).toEqual([]);
});

test("a worker that falls silent is counted no more until it is heard again", async () => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["performance"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  using heard = await watching(world);
  const { watch } = heard;
  announce(world, "old", 4, 1, 1);
  await eventually(() => expect(watch.read(MODEL)).toEqual({ workers: 1, held: 1 }));
  expect(watch.isComplete).toBe(false);
  vi.advanceTimersByTime(7_001);
  expect([watch.isComplete, watch.read(MODEL)]).toEqual([true, NONE]);
  announce(world, "old", 4, 0);
  await eventually(() => expect(watch.read(MODEL)).toEqual({ workers: 1, held: 0 }));
  realTimers[Symbol.dispose]();
});

test("a worker that does not tell what it holds, or tells it malformed, is counted by the slots that it uses", async () => {
  await using world = await openWorld();
  using heard = await watching(world);
  announce(world, "earlier version", 2, 1);
  const bad = `{"worker":"bad","slots":3,"running":{"acme":1},"held":-1}`;
  world.broker.reads.publish(slotsSubject(MODEL), bad);
  world.broker.reads.publish(slotsSubject(MODEL), "no announcement");
  world.broker.reads.publish("slots._", "{}");
  await eventually(() => expect(heard.watch.read(MODEL)).toEqual({ workers: 2, held: 2 }));
  expect(world.errors).toEqual([]);
});

test("tells what the engine of each worker can do, and which worker does not say", async () => {
  await using world = await openWorld();
  using heard = await watching(world);
  const say = (worker: string, fields: object) => {
    const text = JSON.stringify({ worker, slots: 1, running: {}, ...fields });
    world.broker.reads.publish(slotsSubject(MODEL), text);
  };
  say("earlier version", {});
  say("malformed", { capabilities: ["a", 7], contextTokens: "4096" });
  say("new", { capabilities: ["a", "of_a_later_version"], contextTokens: 8_192 });
  say("stopped", { slots: 0, contextTokens: 512 });
  const told = [undefined, undefined, ["a", "of_a_later_version"]];
  await eventually(() => expect(heard.watch.capabilitiesOf(MODEL)).toEqual(told));
  expect(heard.watch.capabilitiesOf("another")).toEqual([]);
  expect([heard.watch.contextTokensOf(MODEL), heard.watch.contextTokensOf("another")]).toEqual([
    8_192,
    undefined,
  ]);
  say("smaller", { capabilities: [], contextTokens: 4_096 });
  await eventually(() => expect(heard.watch.contextTokensOf(MODEL)).toBe(4_096));
  expect(world.errors).toEqual([]);
});
