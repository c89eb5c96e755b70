import { randomUUID } from "node:crypto";
import type { GenerationLog } from "@reprise/stream";
import type { Job } from "@reprise/jobs";
import {
  encodeEvent,
  type GenerationRef,
  logSubject,
  parseWorkerId,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { loadLog } from "./load-log.ts";
import { createFakeEngine } from "../../testing/fake-engine.ts";
import { openWorld, type World } from "../../testing/world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => {
  vi.useRealTimers();
});

/** From here on no pause of the process comes to its end: what it waits for has to be an event. */
const stopClock = () => vi.useFakeTimers({ toFake: ["setTimeout"] });

/** A log whose replica does not know of its first event yet. */
function lagging(overrides: Partial<GenerationLog> = {}): GenerationLog {
  return { ...world.log, reader: { ...world.log.reader, readLast: async () => undefined }, ...overrides };
}

async function load(log: GenerationLog, ref: GenerationRef, text = "the job's") {
  const payload = encodeEvent(asSeq(0), { type: "output.delta", text });
  const job = { ref, payload } as Job;
  return loadLog({ connection: world.broker.main, log, onError: () => expect.unreachable() }, job);
}

test("a seq 0 that delivery stores while the worker writes its own is read at once, without a pause", async () => {
  stopClock();
  const ref = await world.submit();
  const { events, streamSeq } = await load(lagging(), ref);
  const stored = await world.log.leader.readLast(ref);
  expect(events).toEqual([stored!.payload]);
  expect(streamSeq).toBe(stored!.streamSeq);
});

test("a seq 0 that the broker still replicates is read when the live feed shows it, at any time of the clock", async () => {
  stopClock();
  const ref = await world.submit({ requested: false });
  const payload = encodeEvent(asSeq(0), { type: "output.delta", text: "stands for seq 0" });
  let reads = 0;
  const log = lagging({
    publish: async () => ({ kind: "conflict" }),
    leader: {
      ...world.log.leader,
      async readLast() {
        if (++reads > 2) return world.log.leader.readLast(ref);
        if (reads === 2)
          await world.log.publish(logSubject(ref), payload, {
            expectedLast: asStreamSeq(0),
            writer: randomUUID(),
          });
        return undefined;
      },
    },
  });
  const { events } = await load(log, ref);
  expect(events.map((event) => Buffer.from(event))).toEqual([Buffer.from(payload)]);
  expect(reads).toBe(3);
});

test("a plan that the log has overtaken is made again for what the lost append has shown, without a pause", async () => {
  stopClock();
  const ref = await world.submit({
    history: [
      {
        type: "generation.started",
        attempt: 1,
        worker: parseWorkerId("other"),
        model: "fake",
        nonce: "0badc0",
      },
      { type: "output.delta", text: "Said." },
      { type: "attempt.ended", attempt: 1, reason: "handover" },
      {
        type: "moderation.redacted",
        from_seq: asSeq(2),
        to_seq: asSeq(2),
        replacement: "-",
        rule: "terms",
        category: "words",
      },
    ],
  });
  const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
  const known = stored.slice(0, -1);
  const readLog = vi.fn<GenerationLog["reader"]["readLog"]>(async () => ({
    events: known.map(({ payload }) => payload),
    streamSeq: known.at(-1)!.streamSeq,
  }));
  const reader = { ...world.log.reader, readLog, readLast: async () => known.at(-1) };
  const engine = createFakeEngine(async function* () {
    yield { type: "text", text: " More." };
    yield { type: "finish", reason: "stop" };
  });
  expect(await world.run(ref, engine, { log: { ...world.log, reader } })).toBe("completed");
  const events = await world.read(ref);
  expect(events.slice(stored.length).map(({ type }) => type)).toEqual([
    "generation.started",
    "output.rewind",
    "output.delta",
    "generation.completed",
  ]);
  expect(readLog).toHaveBeenCalledTimes(1);
});

test("a large seq 0 is left to delivery, and read when the live feed shows it", async () => {
  const ref = await world.submit({ requested: false });
  const payload = encodeEvent(asSeq(0), { type: "output.delta", text: "stands for seq 0" });
  const publish = vi.fn<GenerationLog["publish"]>();
  let reads = 0;
  const reader: GenerationLog["reader"] = {
    ...world.log.reader,
    async readLast() {
      if (++reads > 2) return world.log.leader.readLast(ref);
      if (reads === 2)
        await world.log.publish(logSubject(ref), payload, {
          expectedLast: asStreamSeq(0),
          writer: randomUUID(),
        });
      return undefined;
    },
  };
  const { events } = await load({ ...world.log, reader, publish }, ref, "x".repeat(70_000));
  expect(events.map((event) => Buffer.from(event))).toEqual([Buffer.from(payload)]);
  expect(publish).not.toHaveBeenCalled();
});

test("a large seq 0 whose delivery has died is written from the job", async () => {
  const ref = await world.submit({ requested: false });
  const text = "x".repeat(70_000);
  const { events, streamSeq } = await load(world.log, ref, text);
  const stored = await world.log.leader.readLast(ref);
  expect(Buffer.from(stored!.payload)).toEqual(Buffer.from(events[0]!));
  expect([stored!.payload.length > text.length, stored!.streamSeq]).toEqual([true, streamSeq]);
});
