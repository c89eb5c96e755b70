import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type KnownEvent,
  peekSeq,
  type UnknownEvent,
  asStreamSeq,
  asSeq,
} from "@reprise/protocol";
import { describe, expect, test, vi } from "vitest";
import { Appender } from "./appender.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import type { StoredEvent } from "../read/stored-event.ts";
import type { Publish } from "@reprise/broker";
import { denseSeqs, readBack, seqsOf, textOf } from "../testing/read-back.ts";
import {
  appendOne,
  appenderOf,
  cancelled,
  completed,
  delta,
  newRef,
  openWorld,
  requested,
  started,
  writeLog,
} from "../testing/world.ts";

const annotation = { type: "review.note", note: "seen" } as unknown as EventDraft;
const isTakeover = (event: KnownEvent | UnknownEvent) =>
  event.type === "generation.started" && event.attempt === 2;

/** A publish that counts, and that waits for `open()` before it sends. */
function gatedPublish(publish: Publish) {
  const gate = Promise.withResolvers<void>();
  const seen = { calls: 0, inFlight: 0, mostInFlight: 0 };
  const gated: Publish = async (...args) => {
    seen.calls++;
    seen.mostInFlight = Math.max(seen.mostInFlight, ++seen.inFlight);
    await gate.promise;
    const outcome = await publish(...args);
    seen.inFlight--;
    return outcome;
  };
  return { publish: gated, seen, open: () => gate.resolve() };
}

describe("an appender", () => {
  test("numbers events densely from 0 and stores them in the order in which they were appended", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const appender = appenderOf(world.log, ref);
    const drafts = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? delta(`${i} `) : started(i)));
    for (const draft of [requested(ref), ...drafts, completed()]) appender.append(draft);
    expect(await appender.settled()).toEqual({ kind: "open" });
    const events = await readBack(world.log, ref);
    expect(seqsOf(events)).toEqual(denseSeqs(202));
    expect(events).toEqual([requested(ref), ...drafts, completed()].map((draft, seq) => ({ ...draft, seq })));
    expect(appender.head).toMatchObject({ seq: 201 });
  });

  test("sends the first event at once, has one in flight, and merges the deltas that come meanwhile", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const { publish, seen, open } = gatedPublish(world.log.publish);
    const appender = appenderOf(world.log, ref, { publish });
    appender.append(delta("a"));
    expect(seen.calls).toBe(1);
    for (const text of "bcdef") appender.append(delta(text));
    expect([seen.calls, appender.backlog]).toEqual([1, 5]);
    open();
    await appender.settled();
    expect(await readBack(world.log, ref)).toEqual([
      { seq: 0, type: "output.delta", text: "a" },
      { seq: 1, type: "output.delta", text: "bcdef", tokens: 5 },
    ]);
    expect([seen.calls, seen.mostInFlight, appender.backlog]).toEqual([2, 1, 0]);
  });

  test("tells of each of its events how long the oldest part of it has waited until it was stored", async () => {
    await using world = await openWorld();
    const { publish, open } = gatedPublish(world.log.publish);
    const waitedMs: number[] = [];
    const onStoredAfter = (ms: number) => waitedMs.push(ms);
    const appender = appenderOf(world.log, newRef(), { publish, onStoredAfter });
    vi.useFakeTimers({ toFake: ["performance"] });
    using _ = { [Symbol.dispose]: () => vi.useRealTimers() };
    appender.append(delta("a"));
    vi.advanceTimersByTime(100);
    appender.append(delta("b"));
    vi.advanceTimersByTime(30);
    appender.append(delta("c"));
    vi.advanceTimersByTime(10);
    open();
    await appender.settled();
    expect(waitedMs).toEqual([140, 40]);
  });

  test("tells of every stored event once, in order, with the stream sequence at which it lies", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const told: StoredEvent[] = [];
    const appender = appenderOf(world.log, ref, { onStored: (event) => told.push(event) });
    for (const draft of [requested(ref), started(), delta("a"), completed()]) appender.append(draft);
    await appender.settled();
    const stored = await world.log.leader.readTail(ref, asStreamSeq(0));
    const summary = ({ payload, streamSeq, writer }: StoredEvent) => [
      Buffer.from(payload).toString(),
      streamSeq,
      writer,
    ];
    expect(told.map(summary)).toEqual(stored.map(summary));
  });

  test("continues after another writer's events, and reports those too", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const appender = await writeLog(world.log, ref, 3);
    const told: number[] = [];
    const stale = appenderOf(world.log, ref, {
      head: appender.head,
      onStored: ({ payload }) => told.push(decodeEvent(payload).seq),
    });
    for (let i = 0; i < 3; i++) await appendOne(appender, annotation);
    await appendOne(stale, delta("mine"));
    const events = await readBack(world.log, ref);
    expect(seqsOf(events)).toEqual(denseSeqs(8));
    expect(events.at(-1)).toMatchObject({ seq: 7, text: "mine" });
    expect(told).toEqual([4, 5, 6, 7]);
  });

  test("two that write to one log at full speed lose nothing, double nothing and keep each one's order", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const [left, right] = [appenderOf(world.log, ref), appenderOf(world.log, ref)];
    // Lower- and upper-case letters tell who wrote what; events that can't be merged make as many appends as possible.
    const texts = Array.from({ length: 60 }, (_, i) => String.fromCharCode(0x61 + (i % 26)));
    for (const [i, text] of texts.entries()) {
      left.append({ type: "output.delta", text, output: 2 * (i % 2) });
      right.append({ type: "output.delta", text: text.toUpperCase(), output: 1 + 2 * (i % 2) });
    }
    await Promise.all([left.settled(), right.settled()]);
    const events = await readBack(world.log, ref);
    const text = textOf(events);
    expect(seqsOf(events)).toEqual(denseSeqs(120));
    expect(text.replaceAll(/[A-Z]/g, "")).toBe(texts.join(""));
    expect(text.replaceAll(/[a-z]/g, "")).toBe(texts.join("").toUpperCase());
  });

  test("that was fenced stops for good: not one event of it follows the fence", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const successor = await writeLog(world.log, ref, 3);
    const zombie = appenderOf(world.log, ref, { head: successor.head, isFence: isTakeover });
    await appendOne(successor, started(2));
    for (const text of "abc") await appendOne(zombie, delta(text));
    expect(zombie.state).toEqual({
      kind: "fenced",
      by: expect.objectContaining({ type: "generation.started", attempt: 2 }),
    });
    await appendOne(successor, delta("after"));
    expect(seqsOf(await readBack(world.log, ref))).toEqual(denseSeqs(6));
    expect(textOf(await readBack(world.log, ref))).toBe("1 2 3 after");
  });

  test("that is fenced in the middle of a queue drops what waits", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const successor = await writeLog(world.log, ref, 1);
    const zombie = appenderOf(world.log, ref, { head: successor.head, isFence: isTakeover });
    await appendOne(successor, started(2));
    for (const draft of [delta("a"), completed(), delta("b")]) zombie.append(draft);
    expect((await zombie.settled()).kind).toBe("fenced");
    expect(zombie.backlog).toBe(0);
    expect((await readBack(world.log, ref)).map(({ type }) => type)).toEqual([
      "generation.requested",
      "output.delta",
      "generation.started",
    ]);
  });

  test("that has nothing to write learns of a fence when it is told that the log has grown", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const worker = await writeLog(world.log, ref, 2);
    const idle = appenderOf(world.log, ref, {
      head: worker.head,
      isFence: ({ type }) => type === "generation.cancelled",
    });
    await appendOne(worker, cancelled());
    idle.observe(worker.head.seq);
    expect((await idle.settled()).kind).toBe("fenced");
  });

  test("that has nothing to write learns of others' events when it syncs", async () => {
    await using world = await openWorld();
    const ref = newRef();
    const worker = await writeLog(world.log, ref, 2);
    const idle = appenderOf(world.log, ref, { head: worker.head });
    await appendOne(worker, annotation);
    idle.sync();
    expect(await idle.settled()).toEqual({ kind: "open" });
    expect([idle.head.seq, idle.head.streamSeq]).toEqual([worker.head.seq, worker.head.streamSeq]);
  });

  test("reads nothing when the live feed shows its own events", async () => {
    await using world = await openWorld();
    const ref = newRef();
    let reads = 0;
    const leader = {
      readTail: () => Promise.resolve((reads++, [])),
      readLast: () => Promise.resolve((reads++, undefined)),
    };
    const appender = appenderOf(world.log, ref, { leader });
    await appendOne(appender, requested(ref));
    appender.append(delta("a"));
    appender.observe(asSeq(1));
    await appender.settled();
    await appendOne(appender, delta("b"));
    appender.observe(asSeq(2));
    await appender.settled();
    expect(reads).toBe(0);
  });

  test("that starts at an old head of its own log catches up and continues", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 10);
    const late = appenderOf(world.log, ref);
    await appendOne(late, delta("late"));
    expect(late.head.seq).toBe(11);
    expect(textOf(await readBack(world.log, ref))).toBe("1 2 3 4 5 6 7 8 9 10 late");
  });

  test("that is given an event larger than the broker takes fails, and says so", async () => {
    await using world = await openWorld();
    const appender = appenderOf(world.log, newRef());
    await appendOne(appender, { type: "reasoning.sealed", encrypted: "x".repeat(9 * 1_024 * 1_024) });
    expect(appender.state).toMatchObject({ kind: "failed" });
  });
});

test("nothing after a fence is taken", async () => {
  const ref = newRef();
  const [first, second, third] = [started(), started(2), delta("of the second attempt")].map(
    (draft, index): StoredEvent => ({
      payload: encodeEvent(asSeq(index + 1), draft),
      streamSeq: asStreamSeq(index + 2),
      writer: index === 0 ? "own" : "other",
    }),
  );
  const request: StoredEvent = {
    payload: encodeEvent(asSeq(0), requested(ref)),
    streamSeq: asStreamSeq(1),
    writer: "other",
  };
  const leader: LeaderReader = {
    readLast: async () => third,
    readTail: async (_ref, after) =>
      [request, first!, second!, third!].filter(({ streamSeq }) => streamSeq > after),
  };
  const told: number[] = [];
  const appender = new Appender({
    ref,
    leader,
    writer: "own",
    head: { seq: asSeq(1), streamSeq: asStreamSeq(2), payload: first!.payload },
    publish: async () => ({ kind: "conflict" }),
    isFence: ({ type }) => type === "generation.started",
    onStored: ({ payload }) => told.push(peekSeq(payload)),
  });
  appender.append(delta("of the first attempt"));
  expect(await appender.settled()).toMatchObject({ kind: "fenced", by: { seq: 2 } });
  expect([told, appender.head.seq]).toEqual([[2], 2]);
  appender.append(delta("too late"));
  appender.sync();
  await appender.settled();
  expect([told, appender.backlog]).toEqual([[2], 0]);
});
