import type { Publish } from "@reprise/broker";
import {
  decodeOpsRecord,
  type DeliveredRecord,
  type GenerationRef,
  opsSubject,
  parseNodeId,
  type DeliveryMark,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ReaderRegistry } from "../reader-registry.ts";
import { ConnectionRecord } from "./connection-record.ts";
import { DeliveryMarks } from "./delivery-marks.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Opens delivery marks with a fake broker that stores all records, unless it is away. */
function openDelivered(options: { maxWaiting?: number } = {}) {
  const records: [subject: string, record: DeliveredRecord][] = [];
  const broker = { away: false, tries: 0 };
  const publish: Publish = async (subject, payload) => {
    broker.tries++;
    if (broker.away) return { kind: "unavailable", reason: "disconnected" };
    records.push([subject, decodeOpsRecord(payload) as DeliveredRecord]);
    return { kind: "stored", streamSeq: asStreamSeq(records.length), duplicate: false };
  };
  const lost: number[] = [];
  const node = parseNodeId("node");
  const onError = (error: unknown) => expect.unreachable(String(error));
  const onLost = (count: number) => lost.push(count);
  const delivered = new DeliveryMarks({ publish, node, onLost, onError, random: () => 0, ...options });
  const registry = new ReaderRegistry({
    presence: { publish, node, onError },
    marks: delivered,
    renew: (principal) => principal,
  });
  const enter = (ref: GenerationRef, from = 1) => {
    const position = { takenSeq: asSeq(from - 1), sentSeq: asSeq(from - 1) };
    const caller = { by: "ann", address: "private" } as const;
    const record = new ConnectionRecord({ protocol: "sse", caller, fromSeq: asSeq(from), position });
    const leave = registry.enter({ ref, record });
    return { leave, moveTo: (seq: number) => Object.assign(position, { takenSeq: seq, sentSeq: seq }) };
  };
  const marks = (): DeliveryMark[] => records.flatMap(([, { readers }]) => readers);
  return { delivered, registry, enter, records, broker, lost, marks };
}

const BATCH_MS = 1_200;

describe("what readers were handed", () => {
  test("is recorded within a second of their coming and of their going, with their caller", async () => {
    const { enter, records } = openDelivered();
    const idleTimers = vi.getTimerCount();
    const ref = createRef();
    const reader = enter(ref, 3);
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    reader.moveTo(7);
    reader.leave();
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    const mark = {
      reader: expect.stringMatching(/^rdr_[\w-]{16}$/),
      protocol: "sse",
      address: "private",
      by: "ann",
      from_seq: 3,
      started_at: expect.stringMatching(/Z$/),
    };
    const subject = opsSubject("delivered", ref.tenant, ref.generation);
    const record = { kind: "delivered", at: expect.stringMatching(/Z$/), node: "node" };
    expect(records).toEqual([
      [subject, { ...record, readers: [{ ...mark, seq: 2 }] }],
      [subject, { ...record, readers: [{ ...mark, seq: 7, ended_at: expect.stringMatching(/Z$/) }] }],
    ]);
    expect(records[0]![1].readers[0]!.reader).toBe(records[1]![1].readers[0]!.reader);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(vi.getTimerCount()).toBe(idleTimers);
  });

  test("is recorded again while they move, every five seconds, and not while they do not move", async () => {
    const { enter, marks } = openDelivered();
    const ref = createRef();
    const [moving] = [enter(ref), enter(ref)];
    for (let seq = 1; seq <= 100; seq++) {
      moving.moveTo(seq);
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(marks()).toHaveLength(2 + 3);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(marks()).toHaveLength(2 + 3 + 1);
    expect(marks().at(-1)).toMatchObject({ seq: 100 });
  });

  test("is one record for all readers of a generation that come at once, and of a thousand that poll", async () => {
    const { enter, records, marks } = openDelivered();
    const ref = createRef();
    for (let i = 0; i < 1_000; i++) enter(ref).leave();
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    expect(records.length).toBeLessThanOrEqual(2);
    expect(new Set(marks().map(({ reader }) => reader)).size).toBe(1_000);
  });

  test("waits for a broker that is away, and is stored then with the newest positions", async () => {
    const { enter, marks, broker, lost } = openDelivered();
    const ref = createRef();
    broker.away = true;
    const [here, gone] = [enter(ref), enter(ref)];
    gone.leave();
    await vi.advanceTimersByTimeAsync(30_000);
    here.moveTo(9);
    broker.away = false;
    await vi.advanceTimersByTimeAsync(7_000);
    expect(marks().filter(({ ended_at }) => ended_at === undefined)).toMatchObject([{ seq: 9 }]);
    expect(marks().filter(({ ended_at }) => ended_at !== undefined)).toHaveLength(1);
    expect(lost).toEqual([]);
  });

  test("is kept for a broker that is away up to a limit; how much was lost is counted, and told when it is back", async () => {
    const { delivered, enter, marks, broker, lost } = openDelivered({ maxWaiting: 3 });
    broker.away = true;
    for (let i = 0; i < 5; i++) enter(createRef()).leave();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([delivered.lost, lost]).toEqual([2, []]);
    broker.away = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(marks()).toHaveLength(3);
    expect(lost).toEqual([2]);
    enter(createRef()).leave();
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    expect([marks().length, lost]).toEqual([4, [2]]);
  });

  test("is recorded to the end when a node closes", async () => {
    const { registry, enter, marks } = openDelivered();
    const readers = Array.from({ length: 100 }, () => enter(createRef()));
    for (const { leave } of readers) leave();
    await registry.close();
    expect(marks()).toHaveLength(100);
    expect(marks().every(({ ended_at }) => ended_at !== undefined)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("holds up no node that closes for more than a few seconds, and is told as lost", async () => {
    const { registry, enter, broker, lost } = openDelivered();
    broker.away = true;
    for (let i = 0; i < 500; i++) enter(createRef()).leave();
    const closed = vi.fn<() => void>();
    void registry.close().then(closed);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(closed).toHaveBeenCalledOnce();
    expect(lost).toEqual([500]);
  });
});
