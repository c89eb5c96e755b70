import { GenerationCache } from "@reprise/stream";
import { type Publish } from "@reprise/broker";
import { decodePresenceRecord } from "@reprise/jobs";
import {
  DEFAULT_POLICY,
  encodeEvent,
  type EffectivePolicy,
  parseNodeId,
  readerSubject,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createRef, requested } from "@reprise/testkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { nativeSseFraming } from "../streams/native-sse-framing.ts";
import { completed, delta } from "../../testing/platform.ts";
import { DeliveryMarks } from "../delivery-marks/delivery-marks.ts";
import { ReaderRegistry } from "../reader-registry.ts";
import { presentReader } from "./present-reader.ts";

const NODE = parseNodeId("node");
const LEASE_MS = 6_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function cacheOf(policy: Partial<EffectivePolicy>): GenerationCache {
  const ref = createRef();
  const first = encodeEvent(asSeq(0), requested(ref, {}, { ...DEFAULT_POLICY, ...policy }));
  return new GenerationCache(ref, nativeSseFraming, { events: [first], streamSeq: asStreamSeq(1) });
}

const watched = () => cacheOf({ on_disconnect: { cancel_after: 1_000 } });
const paced = () => cacheOf({ pace: { max_lead_tokens: 10 } });

/** A registry whose broker hears everything, unless it is away. */
function openPresence() {
  const messages: [subject: string, record: unknown][] = [];
  const broker = { away: false };
  const publish: Publish = async (subject, payload) => {
    if (broker.away) return { kind: "unavailable", reason: "disconnected" };
    messages.push([subject, decodePresenceRecord(payload)]);
    return { kind: "stored", streamSeq: asStreamSeq(messages.length), duplicate: false };
  };
  const onError = (error: unknown) => expect.unreachable(String(error));
  const registry = new ReaderRegistry({
    presence: { publish, node: NODE, leaseMs: LEASE_MS, onError },
    marks: new DeliveryMarks({ publish, node: NODE, onLost: onError, onError }),
    renew: (principal) => principal,
    heartbeatMs: 10 * LEASE_MS,
  });
  const idleTimers = vi.getTimerCount();
  return {
    registry,
    broker,
    messages,
    announced: () => messages.map(([, record]) => record),
    /** Timers that run because of readers. */
    timers: () => vi.getTimerCount() - idleTimers,
    enter: (cache: GenerationCache, takenSeq: () => number) =>
      registry.enter({
        ref: cache.ref,
        presence: presentReader(cache, {
          get takenSeq() {
            return asSeq(takenSeq());
          },
        }),
      }),
  };
}

describe("presence", () => {
  test("costs nothing where no policy depends on readers, and where the generation has ended", async () => {
    const { enter, messages, timers } = openPresence();
    enter(cacheOf({}), () => 0)();
    const ended = watched();
    ended.events.acceptLive(encodeEvent(asSeq(1), completed()), () => asStreamSeq(2));
    enter(ended, () => 0)();
    await vi.advanceTimersByTimeAsync(100);
    expect([timers(), messages]).toEqual([0, []]);
  });

  test("announces its first reader at once, repeats it within a lease, and announces at once that the last one has left", async () => {
    const { enter, messages, announced, timers } = openPresence();
    const cache = watched();
    const leave = enter(cache, () => 4);
    expect(messages).toEqual([[readerSubject(cache.ref, NODE), { readers: 1, seq: 4 }]]);
    await vi.advanceTimersByTimeAsync(LEASE_MS - 100);
    expect(announced()).toEqual(Array.from({ length: 3 }, () => ({ readers: 1, seq: 4 })));
    leave();
    expect(announced().at(-1)).toEqual({ readers: 0, seq: 4 });
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect([announced().length, timers()]).toEqual([4, 0]);
  });

  test("announces a thousand readers in one record, and their position not with every event", async () => {
    const { enter, announced } = openPresence();
    const cache = watched();
    let seq = 0;
    const leaves = Array.from({ length: 1_000 }, () => enter(cache, () => seq));
    for (; seq < 20; seq++) await vi.advanceTimersByTimeAsync(90);
    expect(announced()).toEqual([{ readers: 1, seq: 0 }]);
    for (const leave of leaves) leave();
    expect(announced()).toHaveLength(2);
    expect(announced().at(-1)).toMatchObject({ readers: 0 });
  });

  test("announces the position of a paced generation's furthest reader as it moves, ten times a second", async () => {
    const { enter, announced } = openPresence();
    const cache = paced();
    let furthest = 0;
    enter(cache, () => furthest);
    enter(cache, () => 0);
    for (; furthest < 100; furthest++) await vi.advanceTimersByTimeAsync(10);
    expect(announced().length).toBeLessThanOrEqual(11);
    await vi.advanceTimersByTimeAsync(100);
    expect(announced().at(-1)).toEqual({ readers: 2, seq: 100 });
  });

  test("announces what moderation keeps from the readers of a paced generation", async () => {
    const { enter, announced } = openPresence();
    const moderation = {
      mode: "gate",
      rule_set: "rules",
      replacement: "*",
      on_unavailable: { answer: "fail_closed", after_ms: 5_000 },
      review: { answer: "redact", after_ms: 5_000 },
    } as const;
    const cache = cacheOf({ moderation, pace: { max_lead_tokens: 10 } });
    cache.shown.acceptVerdict({ judged: asSeq(0), cleared: asSeq(0), decided: asSeq(0) });
    for (const seq of [1, 2, 3])
      cache.events.acceptLive(encodeEvent(asSeq(seq), delta("x")), () => asStreamSeq(seq + 1));
    enter(cache, () => 0);
    cache.shown.acceptVerdict({ judged: asSeq(3), cleared: asSeq(2), decided: asSeq(0) });
    await vi.advanceTimersByTimeAsync(100);
    cache.shown.acceptVerdict({ judged: asSeq(3), cleared: asSeq(3), decided: asSeq(0) });
    await vi.advanceTimersByTimeAsync(100);
    const held = (fromSeq: number) => ({ readers: 1, seq: 0, held: { fromSeq, toSeq: 3 } });
    expect(announced()).toEqual([held(1), held(3), { readers: 1, seq: 0 }]);
  });

  test("when the furthest has left, the next one counts", async () => {
    const { enter, announced } = openPresence();
    const cache = paced();
    const leave = enter(cache, () => 50);
    enter(cache, () => 7);
    await vi.advanceTimersByTimeAsync(200);
    leave();
    await vi.advanceTimersByTimeAsync(200);
    expect(announced().at(-1)).toEqual({ readers: 1, seq: 7 });
  });

  test("announces a reader that comes and goes all the time ten times a second, and at last that it has gone", async () => {
    const { enter, announced } = openPresence();
    const cache = watched();
    for (let poll = 0; poll < 100; poll++) {
      enter(cache, () => 0)();
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(announced().length).toBeLessThanOrEqual(12);
    expect(announced().length).toBeGreaterThanOrEqual(9);
    expect(announced().at(-1)).toMatchObject({ readers: 0 });
  });

  test("sends an announcement that did not arrive again, with the newest state", async () => {
    const { enter, announced, broker } = openPresence();
    broker.away = true;
    const leave = enter(watched(), () => 0);
    await vi.advanceTimersByTimeAsync(1_000);
    leave();
    await vi.advanceTimersByTimeAsync(1_000);
    broker.away = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(announced()).toEqual([{ readers: 0, seq: 0 }]);
  });

  test("stops announcing that readers have left once a lease has run out", async () => {
    const { enter, broker, timers } = openPresence();
    enter(watched(), () => 0)();
    broker.away = true;
    await vi.advanceTimersByTimeAsync(LEASE_MS + 200);
    expect(timers()).toBe(0);
  });

  test("a node that drains gives its readers a lease to arrive elsewhere, and does not say that they have left", async () => {
    const { registry, enter, announced } = openPresence();
    const leave = enter(watched(), () => 0);
    await vi.advanceTimersByTimeAsync(1_000);
    registry.drain();
    leave();
    await registry.close();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(announced()).toEqual(Array.from({ length: 2 }, () => ({ readers: 1, seq: 0 })));
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a node that drains while an announcement is in flight sends the last one after it", async () => {
    const { registry, enter, announced } = openPresence();
    const cache = watched();
    const leave = enter(cache, () => 0);
    await vi.advanceTimersByTimeAsync(1_000);
    leave();
    // The announcement of no readers is still in flight when a reader comes and the node drains.
    enter(cache, () => 3);
    registry.drain();
    await registry.close();
    expect(announced().at(-1)).toEqual({ readers: 1, seq: 3 });
  });
});
