import { execFileSync } from "node:child_process";
import { startRedis } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openRedis } from "./open-redis.ts";

const TIMEOUT_MS = 500;

/** Blocks the process like a computation or a missing CPU would, at least until Redis has answered the earlier commands, and for at least `ms`. */
function standStill(port: number, ms: number): void {
  const startedMs = performance.now();
  execFileSync("redis-cli", ["-h", "127.0.0.1", "-p", `${port}`, "ping"]);
  const leftMs = Math.max(0, ms - (performance.now() - startedMs));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leftMs);
}

test("an answer that has come while this process stood still counts, though the time for it is over", async () => {
  await using server = await startRedis();
  const redis = openRedis(server.url, { onError: () => {}, timeoutMs: TIMEOUT_MS });
  // `once` of `node:events` would reject with the first failure to connect.
  await new Promise<void>((resolve) => redis.once("ready", () => resolve()));
  const answers = Promise.all([redis.ping(), redis.set("a", "1"), redis.get("a")]);
  standStill(server.port, 2 * TIMEOUT_MS);
  expect(await answers).toEqual(["PONG", "OK", "1"]);
  redis.disconnect();
});
