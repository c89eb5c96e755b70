import { pause } from "@reprise/async";
import {
  encodeEvent,
  type GenerationRef,
  peekSeq,
  asSeq,
  asStreamSeq,
  type StreamSeq,
} from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { appendDecision } from "./append-decision.ts";
import { Appender } from "./appender.ts";
import { toHead } from "../read/log-head.ts";
import type { Publish } from "@reprise/broker";
import type { LogReader } from "../read/log-reader.ts";
import type { StoredEvent } from "../read/stored-event.ts";
import { cancelled, delta, newRef, requested } from "../testing/world.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PUBLISH_MS = 1;

/** A log in memory. A publish to it takes a millisecond. */
class MemoryLog {
  readonly events: StoredEvent[] = [];

  constructor(ref: GenerationRef) {
    this.#store(encodeEvent(asSeq(0), requested(ref)), "creator");
  }

  get last(): StoredEvent {
    return this.events.at(-1)!;
  }

  publish: Publish = async (_subject, payload, { expectedLast, writer = "" }) => {
    await pause(PUBLISH_MS);
    if (expectedLast !== this.events.length) return { kind: "conflict" };
    return { kind: "stored", streamSeq: this.#store(payload, writer), duplicate: false };
  };

  /** A reader whose reads take this many milliseconds. */
  readerTaking(ms: number): LogReader {
    const after = (ready: number) => this.events.slice(ready);
    const readTail: LogReader["readTail"] = async (_ref, streamSeq) => {
      const tail = after(streamSeq);
      await pause(ms);
      return tail;
    };
    const readLast = async () => this.last;
    const readLog = async () => {
      const events = await readTail(newRef(), asStreamSeq(0));
      return { events: events.map(({ payload }) => payload), streamSeq: asStreamSeq(events.length) };
    };
    const unused = () => Promise.reject(new Error("is not called here"));
    return { readTail, readLast, readLog, readFirst: unused, readBatch: unused };
  }

  #store(payload: Uint8Array, writer: string): StreamSeq {
    return asStreamSeq(this.events.push({ payload, writer, streamSeq: asStreamSeq(this.events.length + 1) }));
  }
}

/** A writer that appends again as soon as its last event is stored. */
function writeAtFullSpeed(ref: GenerationRef, log: MemoryLog): Appender {
  const appender = new Appender({
    ref,
    publish: log.publish,
    leader: log.readerTaking(PUBLISH_MS),
    head: toHead(log.last),
    writer: "worker",
    isFence: ({ type }) => type === "generation.cancelled",
    onStored: () => appender.append(delta("x")),
  });
  appender.append(delta("x"));
  return appender;
}

/** A cancel by a process that needs so long to read what it has lost to. */
async function cancel(
  ref: GenerationRef,
  { log, readMs, requestYield }: { log: MemoryLog; readMs: number; requestYield: () => void },
) {
  const publish = vi.fn<Publish>(log.publish);
  const reader = log.readerTaking(readMs);
  const decision = appendDecision({
    ref,
    publish,
    reader,
    leader: reader,
    requestYield,
    publishCheckpoint: async () => ({ kind: "unavailable", reason: "timeout" }),
    maxCheckpointBytes: 0,
    writer: "delivery",
    decide: ({ ended }) => (ended ? undefined : cancelled()),
  });
  const settled = decision.then(
    ({ appended }) => appended,
    () => false,
  );
  await vi.advanceTimersByTimeAsync(21_000);
  return { appended: await settled, publishes: publish.mock.calls.length };
}

test.each([
  // It loses to what it has not read, then to what was in flight when it asked.
  [5, 3],
  [20, 3],
  [40, 4],
  [300, 7],
])(
  "a decision that reads for %i ms wins with publish %i against a writer that appends every millisecond",
  async (readMs, publishes) => {
    const ref = newRef();
    const log = new MemoryLog(ref);
    const writer = writeAtFullSpeed(ref, log);
    const decided = await cancel(ref, { log, readMs, requestYield: () => writer.yield() });
    expect(decided).toEqual({ appended: true, publishes });
    expect((await writer.settled()).kind).toBe("fenced");
  },
);

test("a decision whose requests are not heard loses nothing but time", async () => {
  const ref = newRef();
  const log = new MemoryLog(ref);
  writeAtFullSpeed(ref, log);
  const { appended } = await cancel(ref, { log, readMs: 20, requestYield: () => {} });
  expect(appended).toBe(false);
  expect(log.events.map(({ payload }) => peekSeq(payload))).toEqual(log.events.map((_, seq) => seq));
  vi.clearAllTimers();
});

test("a writer continues 25 ms after a request that nothing follows", async () => {
  const ref = newRef();
  const log = new MemoryLog(ref);
  const writer = writeAtFullSpeed(ref, log);
  await vi.advanceTimersByTimeAsync(10);
  writer.yield();
  const [before] = [log.events.length, await vi.advanceTimersByTimeAsync(25)];
  // What was in flight is stored all the same.
  expect(log.events.length).toBe(before + 1);
  await vi.advanceTimersByTimeAsync(10);
  expect(log.events.length).toBe(before + 1 + 10);
  vi.clearAllTimers();
});

test("a writer continues at once when the live feed shows the event that it yielded to", async () => {
  const ref = newRef();
  const log = new MemoryLog(ref);
  const writer = writeAtFullSpeed(ref, log);
  writer.yield();
  await vi.advanceTimersByTimeAsync(5);
  const { length } = log.events;
  const annotation = encodeEvent(asSeq(length), { type: "tool.result", call_id: "call", output: "42" });
  const stored = log.publish("", annotation, { expectedLast: asStreamSeq(length), writer: "delivery" });
  await vi.advanceTimersByTimeAsync(PUBLISH_MS);
  expect((await stored).kind).toBe("stored");
  writer.observe(asSeq(length));
  await vi.advanceTimersByTimeAsync(5);
  expect(log.events.length).toBeGreaterThan(length + 1);
  expect(log.events.map(({ payload }) => peekSeq(payload))).toEqual(log.events.map((_, seq) => seq));
  vi.clearAllTimers();
});

test("a flood of requests leaves a writer at least an append a second", async () => {
  const ref = newRef();
  const log = new MemoryLog(ref);
  const writer = writeAtFullSpeed(ref, log);
  const flood = setInterval(() => writer.yield(), 5);
  await vi.advanceTimersByTimeAsync(30_000);
  clearInterval(flood);
  expect(log.events.length).toBeGreaterThanOrEqual(29);
  vi.clearAllTimers();
});
