import { asUnixMs, unixNow } from "@reprise/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TurnTimeout } from "../../domain/after-turn.ts";
import { type TurnWatchOptions, watchTurn } from "./turn-watch.ts";

const TIMEOUTS: TurnWatchOptions["timeouts"] = {
  first_token: { after_ms: 1_000, answer: "retry" },
  between_tokens: { after_ms: 100, answer: "retry" },
  total: { after_ms: 5_000, answer: "fail" },
};

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Begins at 0. `struck` says which timeouts have struck, and when. */
function watch({ totalAtMs = asUnixMs(5_000), timeouts = TIMEOUTS }: Partial<TurnWatchOptions> = {}) {
  const struck: [name: TurnTimeout, atMs: number][] = [];
  const watched = watchTurn({ timeouts, totalAtMs, onTimeout: (name) => struck.push([name, Date.now()]) });
  watched.waiting();
  return {
    struck,
    watched,
    /** Milliseconds until a token comes, which is appended at once. */
    tokenAfter: (ms: number) => {
      vi.advanceTimersByTime(ms);
      watched.arrived();
      watched.waiting();
    },
  };
}

test("an engine that says nothing is late at the first token's limit, and is told once", () => {
  const { struck } = watch();
  vi.advanceTimersByTime(60_000);
  expect(struck).toEqual([["first_token", 1_000]]);
});

test.each([-3_600_000, 3_600_000])("a clock that is set by %i ms meanwhile changes no limit", (ms) => {
  const { struck } = watch();
  vi.setSystemTime(Date.now() + ms);
  vi.advanceTimersByTime(60_000);
  expect(struck.map(([name]) => name)).toEqual(["first_token"]);
  const total = watch({ timeouts: { ...TIMEOUTS, first_token: TIMEOUTS.total }, totalAtMs: unixNow() });
  vi.setSystemTime(Date.now() - ms);
  vi.advanceTimersByTime(1);
  expect(total.struck.map(([name]) => name)).toEqual(["total"]);
});

test("the next token's limit runs from the token before, not from the beginning", () => {
  const { struck, tokenAfter } = watch();
  for (const ms of [950, 99, 99, 60]) tokenAfter(ms);
  expect(struck).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(struck).toEqual([["between_tokens", 950 + 99 + 99 + 60 + 100]]);
});

test("a limit between tokens that is longer than the first one's holds too", () => {
  const timeouts = { ...TIMEOUTS, first_token: { after_ms: 10, answer: "retry" as const } };
  const { struck, tokenAfter } = watch({ timeouts });
  tokenAfter(5);
  vi.advanceTimersByTime(99);
  expect(struck).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(struck).toEqual([["between_tokens", 105]]);
});

test("what takes its time after a token is not the engine", () => {
  const { struck, watched } = watch();
  vi.advanceTimersByTime(10);
  watched.arrived();
  vi.advanceTimersByTime(3_000);
  watched.waiting();
  vi.advanceTimersByTime(99);
  expect(struck).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(struck).toEqual([["between_tokens", 3_110]]);
});

test("a piece of what it can't say yet gives an engine its time again, but starts no stopped clock", () => {
  const { struck, watched } = watch();
  vi.advanceTimersByTime(950);
  watched.progressed();
  vi.advanceTimersByTime(99);
  watched.arrived();
  watched.progressed();
  vi.advanceTimersByTime(2_000);
  expect(struck).toEqual([]);
  watched.waiting();
  vi.advanceTimersByTime(100);
  expect(struck).toEqual([["between_tokens", 3_149]]);
});

test("the total time also runs while the engine is not asked", () => {
  const { struck, watched } = watch();
  vi.advanceTimersByTime(10);
  watched.arrived();
  vi.advanceTimersByTime(60_000);
  expect(struck).toEqual([["total", 5_000]]);
});

test("a generation whose time is over already has none left for its engine", () => {
  const { struck } = watch({ totalAtMs: asUnixMs(-1) });
  vi.advanceTimersByTime(1);
  expect(struck).toEqual([["total", 1]]);
});

test("an engine that continues after it was late is not late once more", () => {
  const { struck, tokenAfter } = watch();
  vi.advanceTimersByTime(1_000);
  tokenAfter(0);
  vi.advanceTimersByTime(60_000);
  expect(struck).toEqual([["first_token", 1_000]]);
});

test("nothing is watched any more after disposal", () => {
  const { struck, watched } = watch();
  watched[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);
  expect(struck).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("no limit runs while the engine listens, though it speaks meanwhile; then it runs again", () => {
  const { struck, watched, tokenAfter } = watch();
  watched.listening(true);
  for (const ms of [1_500, 500]) tokenAfter(ms);
  expect(struck).toEqual([]);
  watched.listening(false);
  vi.advanceTimersByTime(1_000);
  expect(struck).toEqual([["between_tokens", 2_000 + 100]]);
});
