import { encodeEvent, asSeq, asStreamSeq } from "@reprise/protocol";
import { createRef, delta, requested, started } from "@reprise/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LeaderReader } from "../read/leader-reader.ts";
import type { StoredEvent } from "../read/stored-event.ts";
import { GenerationCache } from "./cache/generation-cache.ts";
import { plainFraming } from "../testing/plain-framing.ts";
import { verifyCache } from "./repair.ts";

const REF = createRef();
const LOG = [requested(REF), started(), delta("a"), delta("b")].map((draft, seq): StoredEvent => ({
  payload: encodeEvent(asSeq(seq), draft),
  streamSeq: asStreamSeq(seq + 1),
  writer: "w",
}));
const LOST = LOG.slice(0, 2);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A cache of the whole log whose last event is doubted. */
function doubtedTail(): GenerationCache {
  const cache = new GenerationCache(REF, plainFraming, {
    events: LOG.map(({ payload }) => payload),
    streamSeq: asStreamSeq(LOG.length),
  });
  cache.events.doubt();
  return cache;
}

/** A leader that shows these logs, one at each read, and then the last one. */
function leaderOf(...logs: (readonly StoredEvent[])[]): { leader: LeaderReader; looks: () => number } {
  let looks = 0;
  const log = () => logs[Math.min(looks, logs.length - 1)]!;
  const leader: LeaderReader = {
    async readTail(_ref, after) {
      const tail = log().filter(({ streamSeq }) => streamSeq > after);
      looks++;
      return tail;
    },
    readLast: async () => log().at(-1),
  };
  return { leader, looks: () => looks };
}

async function verify(leader: LeaderReader) {
  const verifying = verifyCache(leader, doubtedTail());
  await vi.runAllTimersAsync();
  return verifying;
}

test("an event that one leader does not have is not lost if another one has it a while later", async () => {
  const { leader, looks } = leaderOf(LOST, LOG);
  expect([await verify(leader), looks()]).toEqual([undefined, 2]);
});

test("an event is lost if it is missing twice, a while apart", async () => {
  const { leader, looks } = leaderOf(LOST);
  expect([await verify(leader), looks()]).toMatchObject([{ code: "events_lost" }, 2]);
  const { leader: early } = leaderOf(LOST, LOG);
  const verifying = verifyCache(early, doubtedTail());
  await vi.advanceTimersByTimeAsync(900);
  expect(vi.getTimerCount()).toBe(1);
  await vi.runAllTimersAsync();
  expect(await verifying).toBeUndefined();
});

test("an event that the leader has at once is asked for once", async () => {
  const { leader, looks } = leaderOf(LOG);
  expect([await verify(leader), looks()]).toEqual([undefined, 1]);
});
