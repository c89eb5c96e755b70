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
import { redacted } from "@reprise/testkit";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { loadLog } from "./load-log.ts";
import { createFakeEngine } from "../../testing/fake-engines.ts";
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

/** Stores an event when it is asked for the second time, and shows it from the third time on. */
function showsThirdTime(ref: GenerationRef, payload: Uint8Array) {
  const options = { expectedLast: asStreamSeq(0), writer: randomUUID() };
  return vi
    .fn(() => world.log.leader.readLast(ref))
    .mockImplementationOnce(async () => undefined)
    .mockImplementationOnce(async () => {
      await world.log.publish(logSubject(ref), payload, options);
      return undefined;
    });
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
  const readLast = showsThirdTime(ref, payload);
  const publish = async () => ({ kind: "conflict" }) as const;
  const log = lagging({ publish, leader: { ...world.log.leader, readLast } });
  const { events } = await load(log, ref);
  expect(events.map((event) => Buffer.from(event))).toEqual([Buffer.from(payload)]);
  expect(readLast).toHaveBeenCalledTimes(3);
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
      redacted(2),
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
  const reader = { ...world.log.reader, readLast: showsThirdTime(ref, payload) };
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
