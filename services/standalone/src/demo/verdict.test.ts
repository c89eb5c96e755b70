import { describe, expect, test } from "vitest";
import { addedLatency, compareReaders } from "./verdict.ts";

const event = (seq: number, text = `{"seq":${seq}}`) => ({ seq, text });
const LOG = [1, 2, 3, 4].map((seq) => event(seq));
const FLAWLESS = { lost: 0, repeated: 0, reordered: 0, identical: true };

describe("what the demo says of two readers", () => {
  test("readers of the same bytes are the same", () => {
    expect(compareReaders(LOG, [...LOG])).toEqual(FLAWLESS);
  });

  test.each([
    ["an event that is missing", [1, 2, 4], { lost: 1 }],
    ["an event that comes twice", [1, 2, 2, 3, 4], { repeated: 1 }],
    ["an event that comes late", [1, 3, 2, 4], { reordered: 1 }],
    ["nothing at all", [], { lost: 4 }],
  ])("%s is told", (_name, seqs, flaw) => {
    const got = seqs.map((seq) => event(seq));
    expect(compareReaders(LOG, got)).toEqual({ ...FLAWLESS, identical: false, ...flaw });
  });

  test("other bytes under the same numbers are not identical", () => {
    const got = LOG.map(({ seq }) => event(seq, `{"seq":${seq},"text":"x"}`));
    expect(compareReaders(LOG, got)).toEqual({ ...FLAWLESS, identical: false });
  });
});

describe("what the demo says of the latency", () => {
  test("a piece of text has arrived when the text has come as far as its end", () => {
    const pieces = [1, 2, 3, 4].map((end) => ({ end, at: end * 10 }));
    const arrivals = [
      { end: 1, at: 10 },
      { end: 3, at: 31 },
      { end: 4, at: 45 },
    ];
    expect(addedLatency(pieces, arrivals)).toEqual({ p50: 5, p99: 11 });
  });

  test("a piece that never arrives has no finite latency", () => {
    const pieces = [
      { end: 1, at: 10 },
      { end: 2, at: 20 },
    ];
    expect(addedLatency(pieces, [{ end: 1, at: 10 }]).p99).toBe(Number.POSITIVE_INFINITY);
  });
});
