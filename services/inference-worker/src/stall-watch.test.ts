import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchStalls } from "./stall-watch.ts";

const LIMIT_MS = 1_000;

/** A connection whose answers come when the test says so. */
function createConnection() {
  const pings: PromiseWithResolvers<void>[] = [];
  const flush = () => {
    const ping = Promise.withResolvers<void>();
    pings.push(ping);
    return ping.promise;
  };
  return { flush, pings };
}

/** The process runs, and its timers with it. */
const run = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** Time goes by, and the process does not run. */
const sleep = (ms: number) => vi.setSystemTime(Date.now() + ms);

describe("a job that arrives", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is not in doubt as long as the broker answers", async () => {
    using watch = watchStalls({ flush: async () => undefined }, LIMIT_MS);
    await run(10 * LIMIT_MS);
    expect(watch.doubtful).toBe(false);
  });

  test("is in doubt after a sleep, until the broker has answered a ping that was sent after it", async () => {
    const connection = createConnection();
    using watch = watchStalls(connection, LIMIT_MS);
    await run(LIMIT_MS / 2);
    const early = connection.pings.splice(0);
    sleep(LIMIT_MS);
    expect(watch.doubtful).toBe(true);
    await run(LIMIT_MS / 4);
    for (const ping of early) ping.resolve();
    await run(0);
    // Those answers say nothing of what the broker sent while the process slept.
    expect(watch.doubtful).toBe(true);
    for (const ping of connection.pings) ping.resolve();
    await run(0);
    expect(watch.doubtful).toBe(false);
  });

  test("is in doubt while the network holds the broker's answers up", async () => {
    const connection = createConnection();
    using watch = watchStalls(connection, LIMIT_MS);
    await run(2 * LIMIT_MS);
    expect(watch.doubtful).toBe(true);
    connection.pings.at(-1)!.resolve();
    await run(0);
    expect(watch.doubtful).toBe(false);
  });

  test("over a new connection is not in doubt, whatever became of the pings over the old one", async () => {
    const connection = createConnection();
    using watch = watchStalls(connection, LIMIT_MS);
    await run(2 * LIMIT_MS);
    for (const ping of connection.pings) ping.reject(new Error("the connection broke"));
    await run(0);
    expect(watch.doubtful).toBe(true);
    watch.reconnected();
    expect(watch.doubtful).toBe(false);
  });
});
