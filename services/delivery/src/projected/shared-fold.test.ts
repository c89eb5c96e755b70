import { asSeq } from "@reprise/protocol";
import { completed, delta, moderatedPolicy, redacted, started } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { openCache } from "./cache.fixture.ts";
import { ProjectedCaches } from "./projected-caches.ts";
import { echo } from "./test-projection.fixture.ts";

/** A fold of a cache that a test fills by hand, and how often it has folded an event. */
function open(opened = openCache()) {
  const { cache, hub } = opened;
  const project = vi.fn<typeof echo.project>((state, event) => echo.project(state, event));
  const fold = new ProjectedCaches(hub).foldOf(cache, { ...echo, project });
  return { ...opened, fold, folded: () => project.mock.calls.length };
}

test("each event is folded once, however many ask, and when", async () => {
  const { feed, fold, folded } = open();
  feed(started(), ...Array.from({ length: 1_000 }, (_, i) => delta(`${i % 10}`)));
  const first = await Promise.all([fold.settle(), fold.settle(), fold.settle()]);
  expect(first.map(({ state, lastSeq }) => [state.text.length, lastSeq])).toEqual([
    [1_000, 1_001],
    [1_000, 1_001],
    [1_000, 1_001],
  ]);
  for (let i = 0; i < 10; i++) {
    feed(delta("x"));
    await fold.settle();
  }
  feed(completed());
  expect(await fold.settle()).toMatchObject({ isOver: true, lastSeq: 1_012, log: { ended: true } });
  expect(folded()).toBe(1_012);
});

test("all calls of one name have one fold", () => {
  const { cache, hub } = openCache();
  const projections = new ProjectedCaches(hub);
  const fold = projections.foldOf(cache, echo);
  expect(projections.foldOf(cache, { ...echo })).toBe(fold);
  expect(projections.foldOf(cache, { ...echo, name: "other" })).not.toBe(fold);
});

test("what it keeps counts as memory of the cache, and goes when that is short and no call waits for it", async () => {
  const { cache, feed, fold, folded } = open();
  feed(started(), delta("x".repeat(100_000)));
  const before = cache.bytes;
  const { state } = await fold.settle();
  expect(cache.bytes - before).toBeGreaterThan(100_000);
  cache.trim(before);
  expect([cache.bytes, state.text.length]).toEqual([before, 100_000]);
  expect((await fold.settle()).state).toEqual(state);
  expect(folded()).toBe(4);
});

test("memory that is short while a call waits does not make it fold again", async () => {
  const { cache, feed, fold, folded } = open();
  feed(started(), ...Array.from({ length: 1_000 }, () => delta("x")));
  const settling = fold.settle();
  cache.trim(0);
  expect((await settling).state.text).toHaveLength(1_000);
  expect(folded()).toBe(1_001);
});

test("events that the node has let go of are read from the log", async () => {
  const { cache, feed, fold, hub } = open();
  feed(started(), ...Array.from({ length: 100 }, () => delta("x".repeat(3_000))));
  cache.trim(0);
  hub.isAway = true;
  const failing = [fold.settle(), fold.settle()];
  for (const settling of failing)
    await expect(settling).rejects.toMatchObject({ code: "broker_unavailable" });
  hub.isAway = false;
  expect((await fold.settle()).state.text).toHaveLength(300_000);
});

test("text that is withdrawn is not in the next answer", async () => {
  const { cache, feed, fold } = open(openCache(moderatedPolicy({ mode: "observe" })));
  feed(started(), delta("a "), delta("SECRET"));
  expect((await fold.settle()).state.text).toBe("a SECRET");
  feed(redacted(3), completed());
  cache.shown.acceptVerdict({ judged: asSeq(5), cleared: asSeq(5), decided: asSeq(5) });
  expect((await fold.settle()).state.text).toBe("a [redacted]");
});
