import { asStreamSeq, asUnixMs } from "@reprise/protocol";
import { expect, test } from "vitest";
import { ShardLag } from "./shard-lag.ts";

const event = (streamSeq: number, storedAtMs: number) => ({
  streamSeq: asStreamSeq(streamSeq),
  storedAtMs: asUnixMs(storedAtMs),
});

test("the lag of a shard is the age of what was read first and is not settled", () => {
  const lag = new ShardLag();
  expect(lag.ageMs(9_000)).toBe(0);
  lag.read([event(1, 1_000), event(2, 2_000)]);
  lag.read([event(5, 4_000)]);
  lag.read([]);
  expect(lag.ageMs(9_000)).toBe(8_000);
  lag.settle(asStreamSeq(1));
  expect(lag.ageMs(9_000)).toBe(8_000);
  lag.settle(asStreamSeq(2));
  expect(lag.ageMs(9_000)).toBe(5_000);
  lag.settle(asStreamSeq(5));
  expect(lag.ageMs(9_000)).toBe(0);
});

test("an event from a broker whose clock is ahead has no negative age", () => {
  const lag = new ShardLag();
  lag.read([event(1, 10_000)]);
  expect(lag.ageMs(9_000)).toBe(0);
});

test("what waits for long has bounded memory, and is settled in the end", () => {
  const lag = new ShardLag();
  for (let seq = 1; seq <= 3_000; seq++) lag.read([event(seq, seq)]);
  lag.settle(asStreamSeq(999));
  expect(lag.ageMs(5_000)).toBe(4_000);
  lag.settle(asStreamSeq(2_999));
  expect(lag.ageMs(5_000)).toBe(4_000);
  lag.settle(asStreamSeq(3_000));
  expect(lag.ageMs(5_000)).toBe(0);
});
