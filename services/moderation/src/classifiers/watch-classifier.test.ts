import { createLogger, createMetrics, DependencyWatches } from "@reprise/runtime";
import { expect, test } from "vitest";
import type { Judgement } from "./classifier.ts";
import { createFakeClassifier, judged } from "./testing/fake-classifier.ts";
import { watchClassifier } from "./watch-classifier.ts";

/** A watched classifier that answers so, one after the other, and what its watch has logged. */
async function linesOf(judgements: readonly Judgement[], metrics = createMetrics({ processMetrics: false })) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const logger = createLogger({ service: "test", destination: { write } });
  const watches = new DependencyWatches({ service: "test", logger });
  const watch = watches.add({ name: "c", gone: "gone", back: "back", reports: "each", graceMs: 0 });
  const left = [...judgements];
  const judge = () => left.shift() ?? judged();
  const classifier = watchClassifier(createFakeClassifier({ judge, name: "c" }), { watch, metrics });
  for (const judgement of judgements) {
    const { signal } = new AbortController();
    expect(await classifier.classify({ input: "x" }, signal)).toBe(judgement);
  }
  return lines;
}

const TIMEOUT: Judgement = { kind: "unjudged", reason: "timeout" };
const REFUSED: Judgement = { kind: "unjudged", reason: "unavailable", detail: "503" };
const OPEN: Judgement = { kind: "unjudged", reason: "open" };
const INVALID: Judgement = { kind: "unjudged", reason: "invalid" };

test("a classifier that does not answer is gone, and back with the first answer, though it makes no sense", async () => {
  expect(await linesOf([TIMEOUT, REFUSED, OPEN, OPEN, INVALID])).toMatchObject([
    { msg: "gone", because: "timeout" },
    { msg: "back", failures: 2 },
  ]);
  expect(await linesOf([REFUSED, judged()])).toMatchObject([
    { because: "unavailable: 503" },
    { msg: "back" },
  ]);
});

test("windows that are not asked about say nothing of it", async () => {
  expect(await linesOf([OPEN, OPEN, judged(), INVALID])).toEqual([]);
});

test("metrics have how long it took, how often it failed, and whether it is left alone", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const value = async (name: string) =>
    Number(new RegExp(`^${name}\\{classifier="c"\\} (.+)$`, "m").exec(await metrics.render())?.[1]);
  const values = () =>
    Promise.all(
      [
        "reprise_classifier_seconds_count",
        "reprise_classifier_failures_total",
        "reprise_classifier_open",
      ].map(value),
    );
  await linesOf([judged(), TIMEOUT, REFUSED, OPEN], metrics);
  expect(await values()).toEqual([3, 2, 1]);
  await linesOf([INVALID], metrics);
  expect(await values()).toEqual([4, 2, 0]);
});
