import { expect, expectTypeOf, test } from "vitest";
import type { GenerationEvent, KnownEvent } from "./event/event.ts";
import { asSeq, asStreamSeq, plus, type Seq, type StreamSeq } from "./seq.ts";

test("a number, a seq and a stream sequence are not taken for one another", () => {
  expectTypeOf<StreamSeq>().not.toExtend<Seq>();
  expectTypeOf<Seq>().not.toExtend<StreamSeq>();
  expectTypeOf<number>().not.toExtend<Seq>();
  expectTypeOf<number>().not.toExtend<StreamSeq>();
  expectTypeOf<Seq>().toExtend<number>();
});

test("moving a place keeps its type, and so do the least and the greatest", () => {
  expectTypeOf(plus(asSeq(4), 1)).toEqualTypeOf<Seq>();
  expectTypeOf(plus(asStreamSeq(4), -1)).toEqualTypeOf<StreamSeq>();
  expectTypeOf(Math.min(asSeq(4), asSeq(3))).toEqualTypeOf<Seq>();
  expectTypeOf(Math.max(asStreamSeq(4), asStreamSeq(3))).toEqualTypeOf<StreamSeq>();
  expect([plus(asSeq(4), 1), plus(asStreamSeq(4), -1)]).toEqual([5, 3]);
});

test("an event has a seq in the platform, and a plain number for clients", () => {
  expectTypeOf<KnownEvent["seq"]>().toExtend<Seq>();
  expectTypeOf<number>().toExtend<GenerationEvent["seq"]>();
});
