import { asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWindows, type WindowEvent, type WindowLimits } from "./windows.ts";

const LIMITS = { maxTokens: 200, overlapTokens: 50 };

/** One event for each piece, a token each, from seq 1. */
function toEvents(pieces: readonly string[]): WindowEvent[] {
  return pieces.map((text, index) => ({ seq: asSeq(index + 1), text, tokens: 1 }));
}

function cut(events: readonly WindowEvent[], limits: WindowLimits = LIMITS) {
  const windows = createWindows(limits);
  return [...events.flatMap((event) => windows.push(event)), ...windows.end()];
}

const words = (count: number) => Array.from({ length: count }, () => " word");
const ranges = (events: readonly WindowEvent[], limits?: WindowLimits) =>
  cut(events, limits).map(({ fromSeq, toSeq }) => [fromSeq, toSeq]);

describe("a window", () => {
  test("closes when it has 200 tokens, and the next one begins with the last 50 of it", () => {
    expect(ranges(toEvents(words(400)))).toEqual([
      [1, 200],
      [151, 350],
      [301, 400],
    ]);
  });

  test("closes after a sentence once white space tells that it has ended", () => {
    const windows = createWindows(LIMITS);
    const events = toEvents([...words(30), ".", " Next"]);
    expect(events.slice(0, -1).flatMap((event) => windows.push(event))).toEqual([]);
    expect(windows.push(events.at(-1)!)).toMatchObject([{ fromSeq: 1, toSeq: 31 }]);
  });

  test("closes after the event in whose middle a sentence ends", () => {
    const events = toEvents([...words(30), "end. And", " on"]);
    expect(ranges(events)).toEqual([
      [1, 31],
      [1, 32],
    ]);
  });

  test("continues after a sentence that brings fewer than 20 new tokens", () => {
    const sentence = [...words(14), ".", " "];
    expect(ranges(toEvents([...sentence, ...sentence, ...sentence]))[0]).toEqual([1, 31]);
  });

  test("with one event that is longer than a window is that event alone", () => {
    const events = [
      ...toEvents(words(60)),
      { seq: asSeq(61), text: "x", tokens: 500 },
      { seq: asSeq(62), text: "y", tokens: 1 },
    ];
    expect(ranges(events)).toEqual([
      [1, 60],
      [61, 61],
      [62, 62],
    ]);
  });

  test("counts text without tokens by its length", () => {
    const events = Array.from({ length: 30 }, (_, index) => ({
      seq: asSeq(index),
      text: "x".repeat(160),
      tokens: 0,
    }));
    expect(ranges(events)[0]).toEqual([0, 19]);
  });

  test("that is still open tells where it begins, and what is new in it", () => {
    const windows = createWindows({ maxTokens: 3, overlapTokens: 1 });
    const places = toEvents(["a", "b", "c", "d"]).map((event) => {
      windows.push(event);
      return [windows.nextFromSeq, windows.uncutSeq];
    });
    expect([windows.end().length, ...places]).toEqual([1, [1, 1], [1, 1], [3, undefined], [3, 4]]);
    expect(createWindows(LIMITS)).toMatchObject({ nextFromSeq: undefined, uncutSeq: undefined });
  });
});

describe("windows, for all events,", () => {
  const event = fc.record({
    text: fc.string({ unit: fc.constantFrom(...Array.from("ab. \n")), maxLength: 40 }),
    tokens: fc.nat(15),
  });
  const events = fc
    .array(event, { maxLength: 120 })
    .map((list) => list.map((item, index) => ({ seq: asSeq(index * 2 + 1), ...item })));
  const limits = { maxTokens: 40, overlapTokens: 10, minTokens: 5 };
  const newTo = (list: ReturnType<typeof cut>) =>
    list.map(({ toSeq }, index) => [index === 0 ? 0 : list[index - 1]!.toSeq, toSeq] as const);

  test("hold every event with text, as new, in exactly one window, and in order", () => {
    fc.assert(
      fc.property(events, (list) => {
        const windows = cut(list, limits);
        const held = newTo(windows).flatMap(([after, to]) =>
          list.filter(({ seq, text }) => seq > after && seq <= to && text !== ""),
        );
        expect(held).toEqual(list.filter(({ text }) => text !== ""));
      }),
    );
  });

  test("hold the text of the events of their range, the overlap's too", () => {
    fc.assert(
      fc.property(events, (list) => {
        for (const { fromSeq, toSeq, text } of cut(list, limits)) {
          const within = list.filter(({ seq }) => seq >= fromSeq && seq <= toSeq);
          expect(within.map((item) => item.text).join("")).toBe(text);
        }
      }),
    );
  });

  test("have at most maxTokens", () => {
    fc.assert(
      fc.property(events, (list) => {
        for (const { fromSeq, toSeq } of cut(list, limits)) {
          const within = list.filter(({ seq, text }) => seq >= fromSeq && seq <= toSeq && text !== "");
          const tokens = within.reduce((sum, item) => sum + item.tokens, 0);
          expect(tokens).toBeLessThanOrEqual(limits.maxTokens);
        }
      }),
    );
  });

  test("do not depend on later events", () => {
    fc.assert(
      fc.property(events, fc.nat(119), (list, at) => {
        const live = createWindows(limits);
        const soFar = list.slice(0, at).flatMap((item) => live.push(item));
        expect(cut(list, limits).slice(0, soFar.length)).toEqual(soFar);
      }),
    );
  });
});
