import { expect, it } from "vitest";
import { inPace } from "./pace.ts";

async function* stored(...ms: number[]) {
  for (const at of ms) yield { storedAtUs: at * 1_000 };
}

/** When each event was handed on, in milliseconds since the first. `costMs` is what their consumer needs for each. */
async function timesOf(speed: number, costMs = 0): Promise<number[]> {
  let clock = 500;
  const times: number[] = [];
  const pause = async (ms: number) => void (clock += ms);
  for await (const _ of inPace(stored(7_000, 7_100, 7_100, 8_000), { speed, now: () => clock, pause })) {
    times.push(clock - 500);
    clock += costMs;
  }
  return times;
}

it("events come as far apart as they were stored, or so many times as fast, the first at once", async () => {
  expect(await timesOf(1)).toEqual([0, 100, 100, 1_000]);
  expect(await timesOf(10)).toEqual([0, 10, 10, 100]);
  expect(await timesOf(Number.POSITIVE_INFINITY)).toEqual([0, 0, 0, 0]);
});

it("a slow consumer gets the next ones when they are due, not later", async () => {
  expect(await timesOf(1, 80)).toEqual([0, 100, 180, 1_000]);
});
