import { expect, test } from "vitest";
import { UndecidedSpans } from "./undecided-spans.ts";

function open(options: { maxSpans?: number; maxKeptSpans?: number; waitMs?: number } = {}) {
  const kept: string[] = [];
  const clock = { ms: 0 };
  const spans = new UndecidedSpans<string>({
    onKept: (span) => kept.push(span),
    now: () => clock.ms,
    ...options,
  });
  return { spans, kept, clock };
}

test("spans that wait are bounded: those of the trace that has been silent for longest go first", () => {
  const { spans, kept } = open({ maxSpans: 4 });
  for (const [trace, span] of [
    ["a", "a1"],
    ["b", "b1"],
    ["a", "a2"],
    ["c", "c1"],
    ["c", "c2"],
  ] as const)
    spans.add(trace, span);
  for (const trace of ["a", "b", "c"]) spans.keep(trace);
  expect(kept).toEqual(["a1", "a2", "c1", "c2"]);
});

test("a trace of which nothing ends for long is let go", () => {
  const { spans, kept, clock } = open({ waitMs: 100 });
  spans.add("a", "a1");
  clock.ms = 60;
  spans.add("a", "a2");
  spans.add("b", "b1");
  clock.ms = 159;
  spans.add("c", "c1");
  spans.keep("a");
  clock.ms = 160;
  spans.add("c", "c2");
  spans.keep("b");
  expect(kept).toEqual(["a1", "a2"]);
});

test("what ends of a kept trace later is exported at once, and nobody is told twice", () => {
  const { spans, kept } = open();
  spans.add("a", "a1");
  expect([spans.keep("a"), spans.keep("a")]).toEqual([true, false]);
  spans.add("a", "a2");
  expect(kept).toEqual(["a1", "a2"]);
});

test("of a trace whose id comes again and again a bounded number of spans is exported in a time, the last ones first", () => {
  const { spans, kept, clock } = open({ maxKeptSpans: 3, waitMs: 100 });
  for (const span of ["a1", "a2", "a3", "a4"]) spans.add("a", span);
  spans.keep("a");
  for (const span of ["a5", "a6"]) spans.add("a", span);
  expect(kept).toEqual(["a2", "a3", "a4"]);
  clock.ms = 99;
  spans.add("a", "a7");
  clock.ms = 100;
  for (const span of ["a8", "a9", "a10", "a11"]) spans.add("a", span);
  expect(kept.slice(3)).toEqual(["a8", "a9", "a10"]);
});

test("a kept trace of which nothing ends for long has to be found worth it again", () => {
  const { spans, kept, clock } = open({ waitMs: 100 });
  spans.add("a", "a1");
  spans.keep("a");
  clock.ms = 99;
  spans.add("a", "a2");
  clock.ms = 199;
  spans.add("a", "a3");
  expect(kept).toEqual(["a1", "a2"]);
  expect(spans.keep("a")).toBe(true);
  expect(kept).toEqual(["a1", "a2", "a3"]);
});
