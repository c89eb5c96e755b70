import { expect, test } from "vitest";
import { watchStalls } from "./stall-watch.ts";

const LIMIT_MS = 60_000;

function createClock() {
  let nowMs = 0;
  return { now: () => nowMs, advance: (ms: number) => void (nowMs += ms) };
}

/** A connection whose pongs come when the test says so. */
function createConnection() {
  const pings: PromiseWithResolvers<void>[] = [];
  const flush = () => {
    const ping = Promise.withResolvers<void>();
    pings.push(ping);
    return ping.promise;
  };
  return { flush, pings };
}

test("a process that always ran doubts nothing", () => {
  const { now, advance } = createClock();
  using watch = watchStalls(createConnection(), LIMIT_MS, now);
  advance(LIMIT_MS);
  expect(watch.doubtful).toBe(false);
});

test("after a stall everything is in doubt that comes before the broker's answer, and nothing behind it", async () => {
  const { now, advance } = createClock();
  const connection = createConnection();
  using watch = watchStalls(connection, LIMIT_MS, now);
  advance(LIMIT_MS + 1);
  expect([watch.doubtful, watch.doubtful]).toEqual([true, true]);
  expect(connection.pings).toHaveLength(1);
  connection.pings[0]!.resolve();
  await connection.pings[0]!.promise;
  await Promise.resolve();
  expect(watch.doubtful).toBe(false);
});

test("a connection that breaks takes what was in doubt with it", async () => {
  const { now, advance } = createClock();
  const connection = createConnection();
  using watch = watchStalls(connection, LIMIT_MS, now);
  advance(LIMIT_MS + 1);
  expect(watch.doubtful).toBe(true);
  connection.pings[0]!.reject(new Error("closed"));
  await connection.pings[0]!.promise.catch(() => undefined);
  await Promise.resolve();
  expect(watch.doubtful).toBe(false);
});
