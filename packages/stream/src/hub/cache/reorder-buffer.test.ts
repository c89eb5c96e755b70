import { asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { ReorderBuffer } from "./reorder-buffer.ts";

/** A quarter of all that is kept. */
const LARGE = new Uint8Array(64 * 1_024).fill(1);

function filled(): ReorderBuffer {
  const early = new ReorderBuffer();
  for (const seq of [1, 2, 3, 4]) early.add(asSeq(seq), LARGE);
  return early;
}

test("events are kept up to a number of bytes", () => {
  const early = filled();
  early.add(asSeq(5), LARGE);
  expect([early.size, early.take(asSeq(5)), early.newestSeq]).toEqual([4, undefined, 5]);
});

test.each([
  ["taken", (early: ReorderBuffer) => void early.take(asSeq(1))],
  ["forgotten", (early: ReorderBuffer) => early.forgetUpTo(asSeq(1))],
])("the bytes of an event that is %s are free for another", (_, release) => {
  const early = filled();
  for (let seq = 1; seq <= 3; seq++) {
    release(early);
    early.add(asSeq(10 + seq), LARGE);
    expect([early.size, early.take(asSeq(10 + seq))]).toEqual([4, LARGE]);
    early.add(asSeq(1), LARGE);
  }
});

test("an event that is not there, or is there already, changes no count", () => {
  const early = filled();
  for (let times = 0; times < 9; times++) {
    early.add(asSeq(2), LARGE);
    early.take(asSeq(99));
  }
  early.forgetUpTo(asSeq(4));
  for (const seq of [5, 6, 7, 8, 9]) early.add(asSeq(seq), LARGE);
  expect([early.size, early.take(asSeq(9))]).toEqual([4, undefined]);
});

test("a payload that is kept has memory of its own", () => {
  const early = new ReorderBuffer();
  const chunk = new Uint8Array([1, 2, 3]);
  early.add(asSeq(1), chunk.subarray(0, 2));
  chunk.fill(9);
  expect(early.take(asSeq(1))).toEqual(new Uint8Array([1, 2]));
});
