import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMetrics } from "../http/metrics.ts";
import { type DependencyOptions, DependencyWatches } from "./dependency-watch.ts";
import { createLogger } from "./logger.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const STORE: DependencyOptions = {
  name: "store",
  gone: "the store is gone",
  back: "the store is back",
  fields: { store: "s" },
  reports: "changes",
  explains: "archive_unavailable",
};

function open() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const metrics = createMetrics({ processMetrics: false });
  const logger = createLogger({ service: "test", destination: { write } });
  const watches = new DependencyWatches({ service: "test", logger, metrics });
  const messages = () => lines.map(({ msg }) => msg);
  const scraped = async () =>
    (await metrics.render()).split("\n").filter((line) => line.startsWith("reprise_"));
  return { watches, lines, messages, scraped };
}

test("what is reported once is gone after 3 s, with one line, and back with how long it was away", () => {
  const { watches, lines } = open();
  const watch = watches.add(STORE);
  watch.failed("no answer");
  vi.advanceTimersByTime(2_999);
  expect([watch.isAway, lines]).toEqual([false, []]);
  vi.advanceTimersByTime(60_000);
  expect([watch.isAway, watch.because]).toEqual([true, "no answer"]);
  watch.worked();
  expect(lines).toMatchObject([
    { level: "warn", msg: "the store is gone", store: "s", because: "no answer" },
    { level: "info", msg: "the store is back", store: "s", awayMs: 62_999 },
  ]);
});

test("what is reported for each failure is gone when it fails once more after 3 s, and back with how often it failed", () => {
  const { watches, lines } = open();
  const watch = watches.add({ ...STORE, reports: "each" });
  watch.failed("one");
  vi.advanceTimersByTime(60_000);
  expect([watch.isAway, lines]).toEqual([false, []]);
  for (const because of ["two", "three"]) watch.failed(because);
  watch.worked();
  expect(lines).toMatchObject([{ because: "two" }, { msg: "the store is back", failures: 3 }]);
  expect(lines).toHaveLength(2);
});

test("one that comes and goes has one line of a loss in 10 s, with the number of losses that had none", () => {
  const { watches, lines } = open();
  const watch = watches.add({ ...STORE, graceMs: 0 });
  for (let losses = 0; losses < 5; losses++) {
    watch.failed("no answer");
    vi.advanceTimersByTime(1_000);
    watch.worked();
    vi.advanceTimersByTime(1_000);
  }
  watch.failed("no answer");
  expect(lines).toMatchObject([{ level: "warn" }, { level: "info" }, { level: "warn", flaps: 4 }]);
  expect(lines).toHaveLength(3);
});

test("another reason is a line of its own", () => {
  const { watches, lines } = open();
  const watch = watches.add({ ...STORE, graceMs: 0 });
  for (const because of ["no answer", "no answer", "no credentials"]) watch.failed(because);
  expect(lines).toMatchObject([
    { because: "no answer" },
    { because: "no credentials", msg: "the store is gone, for another reason" },
  ]);
});

test("what another loss explains has a line only if it outlasts that, and makes the process not ready meanwhile", () => {
  const { watches, messages } = open();
  const store = watches.add(STORE);
  const notReady = (because: string) => `no index: ${because}`;
  const index = watches.add({
    ...STORE,
    name: "index",
    gone: "no index",
    graceMs: 0,
    causedBy: store,
    notReady,
  });
  store.failed("no answer");
  index.failed("no store");
  vi.advanceTimersByTime(20_000);
  expect([messages(), watches.because()]).toEqual([["the store is gone"], ["no index: no store"]]);
  store.worked();
  vi.advanceTimersByTime(4_000);
  expect(messages()).toEqual(["the store is gone", "the store is back"]);
  vi.advanceTimersByTime(2_000);
  expect(messages()).toEqual(["the store is gone", "the store is back", "no index"]);
});

test("one that is back shortly after what has explained its loss has no line, though it failed until then", () => {
  const { watches, messages } = open();
  const store = watches.add(STORE);
  const index = watches.add({ ...STORE, name: "index", gone: "no index", graceMs: 0, causedBy: store });
  store.failed("no answer");
  vi.advanceTimersByTime(20_000);
  store.worked();
  index.failed("no answer in time");
  vi.advanceTimersByTime(2_000);
  index.worked();
  vi.advanceTimersByTime(60_000);
  expect(messages()).toEqual(["the store is gone", "the store is back"]);
});

test("errors with the code of a dependency that is or was away lately are explained, and no others", () => {
  const { watches } = open();
  const watch = watches.add({ ...STORE, graceMs: 0 });
  const explained = () => watches.explains("archive_unavailable", 20_000);
  expect(explained()).toBe(false);
  watch.failed("no answer");
  expect([explained(), watches.explains("broker_unavailable", 20_000)]).toEqual([true, false]);
  watch.worked();
  vi.advanceTimersByTime(19_999);
  expect(explained()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(explained()).toBe(false);
});

test("metrics say which dependency is away, and how often it was, until nothing depends on it", async () => {
  const { watches, scraped } = open();
  const watch = watches.add({ ...STORE, graceMs: 0 });
  const labels = `{service="test",dependency="store"}`;
  expect(await scraped()).toEqual([
    `reprise_dependency_up${labels} 1`,
    `reprise_dependency_losses_total${labels} 0`,
  ]);
  watch.failed("no answer");
  expect(await scraped()).toEqual([
    `reprise_dependency_up${labels} 0`,
    `reprise_dependency_losses_total${labels} 1`,
  ]);
  watches.remove(watch);
  expect(await scraped()).toEqual([`reprise_dependency_losses_total${labels} 1`]);
});
