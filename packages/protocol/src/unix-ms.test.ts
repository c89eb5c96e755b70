import { expect, expectTypeOf, test } from "vitest";
import type { Seq } from "./seq.ts";
import { asUnixMs, NEVER, plusMs, toUnixMs, type UnixMs, unixNow } from "./unix-ms.ts";

test("a duration, a time by another clock and a seq are not taken for a time since 1970", () => {
  expectTypeOf<number>().not.toExtend<UnixMs>();
  expectTypeOf(performance.now()).not.toExtend<UnixMs>();
  expectTypeOf<Seq>().not.toExtend<UnixMs>();
  expectTypeOf(unixNow() - unixNow()).toEqualTypeOf<number>();
});

test("moving a time keeps its type, and so do the earliest and the latest", () => {
  expectTypeOf(plusMs(unixNow(), 1)).toEqualTypeOf<UnixMs>();
  expectTypeOf(Math.min(asUnixMs(4), asUnixMs(3))).toEqualTypeOf<UnixMs>();
  expectTypeOf(Math.max(asUnixMs(4), NEVER)).toEqualTypeOf<UnixMs>();
  expect([plusMs(asUnixMs(4), 1), plusMs(asUnixMs(4), -1)]).toEqual([5, 3]);
});

test("a time of RFC 3339 is read, and another text is not a number", () => {
  expect(toUnixMs("1970-01-01T00:00:01.500Z")).toBe(1_500);
  expect(toUnixMs("yesterday")).toBeNaN();
});
