import { expect, test } from "vitest";
import { Stalls } from "./stalls.ts";

test("a request that is read after a stall, before the event loop has waited again, has arrived when that began", () => {
  let idleMs = 100;
  using stalls = new Stalls(1_000, () => ({ idleMs, cpuMs: 0 }));
  stalls.look(1_250);
  expect(stalls.arrivalAt(1_900)).toBe(1_900);
  expect(stalls.arrivalAt(6_900)).toBe(1_900);
  idleMs += 2;
  expect(stalls.arrivalAt(7_300)).toBe(1_900);
  idleMs += 10;
  expect(stalls.arrivalAt(7_301)).toBe(7_301);
});

test("a process that is busy for long after a stall does not count later requests to it", () => {
  let cpuMs = 300;
  using stalls = new Stalls(1_000, () => ({ idleMs: 0, cpuMs }));
  expect(stalls.arrivalAt(6_000)).toBe(1_000);
  cpuMs += 999;
  expect(stalls.arrivalAt(6_999)).toBe(1_000);
  cpuMs += 1;
  for (const atMs of [7_000, 7_001]) expect(stalls.arrivalAt(atMs)).toBe(atMs);
});

test("a process that is starved after a stall counts all requests that had come, however long it takes to read them", () => {
  let cpuMs = 0;
  using stalls = new Stalls(1_000, () => ({ idleMs: 0, cpuMs }));
  for (const atMs of [6_000, 6_900, 7_800, 8_700]) {
    expect(stalls.arrivalAt(atMs)).toBe(1_000);
    cpuMs += 100;
  }
});

test("the part of a span in which the process stood still is known", () => {
  using stalls = new Stalls(1_000);
  expect(stalls.within(500, 2_000)).toBe(0);
  stalls.look(6_000);
  expect(stalls.within(0, 9_000)).toBe(5_000);
  expect(stalls.within(2_000, 5_500)).toBe(3_500);
  expect(stalls.within(6_000, 9_000)).toBe(0);
});
