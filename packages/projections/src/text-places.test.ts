import { asSeq } from "@reprise/protocol";
import { describe, expect, it, vi } from "vitest";
import { Growing } from "./growing.ts";
import { TextPlaces } from "./text-places.ts";

const placesOf = (...texts: readonly string[]) =>
  texts.reduce((places, text, i) => places.with(10 * (i + 1), text), new TextPlaces());
const range = (seq: number, from: number, to: number) => ({
  from_seq: asSeq(seq),
  from_offset: from,
  to_offset: to,
});

describe("the range of an annotation", () => {
  const places = placesOf("See ", "this", "!");

  it("is counted from where the text of its event begins", () => {
    expect(places.rangeOf(range(20, 1, 3))).toEqual([5, 7]);
    expect(places.rangeOf(range(20, 0, 5))).toEqual([4, 9]);
  });

  it("ends with the text", () => {
    expect(places.rangeOf(range(30, 0, 10))).toEqual([8, 9]);
  });

  it("is all of the text without one, or where its event has no text of these", () => {
    expect(places.rangeOf({})).toEqual([0, 9]);
    expect(places.rangeOf({ from_seq: asSeq(20) })).toEqual([0, 9]);
    for (const seq of [1, 15, 31]) expect(places.rangeOf(range(seq, 0, 1))).toEqual([0, 9]);
    expect(placesOf().rangeOf(range(10, 0, 1))).toEqual([0, 0]);
  });

  it("is found in few steps however long the text is, and without a copy", () => {
    const long = placesOf(...Array.from({ length: 10_000 }, () => "x"));
    using copies = vi.spyOn(Growing.prototype, "toArray");
    let looks = 0;
    const seq = { valueOf: () => (looks++, 50_000) } as unknown as number;
    expect(long.rangeOf(range(seq, 0, 1))).toEqual([0, 10_000]);
    expect([looks <= 14, copies.mock.calls.length]).toEqual([true, 0]);
  });
});

it("a value that others have grown from stays as it was", () => {
  const places = placesOf("a", "b");
  const grown = places.with(30, "c");
  places.with(31, "dd");
  expect([places.length, grown.length]).toEqual([2, 3]);
  expect(grown.rangeOf(range(30, 0, 1))).toEqual([2, 3]);
  expect(grown.rangeOf(range(31, 0, 1))).toEqual([0, 3]);
});

it("lists that grow from an empty one do not share their items", () => {
  const none = new Growing<string>();
  const [one, other] = [none.with("a"), none.with("b")];
  expect([none.toArray(), one.toArray(), other.toArray()]).toEqual([[], ["a"], ["b"]]);
});
