import { PATIENCE_MS, startRedis } from "@reprise/testkit";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { openShared } from "./open-shared.ts";

const HEARTBEAT_MS = 50;

async function open(redisUrl: string) {
  const told: unknown[] = [];
  const opened = await openShared({
    redisUrl,
    kind: "delivery",
    process: "a",
    heartbeatMs: HEARTBEAT_MS,
    timeoutMs: PATIENCE_MS,
    onAway: (error) => told.push(String(error)),
    onBack: () => told.push("back"),
  });
  return { opened, told };
}

test.each([
  ["a login that Redis refuses", "redis://user:secret@127.0.0.1:PORT", /WRONGPASS/],
  ["TLS to a port without it", "rediss://127.0.0.1:PORT", /no connection to Redis.*rediss/],
  ["a port that is closed", "redis://127.0.0.1:1", /ECONNREFUSED/],
  ["a host that is not there", "redis://redis.invalid:PORT", /ENOTFOUND|EAI_AGAIN|no connection/],
])(
  "%s is told when the counters are opened, once, with its cause and no password",
  async (_what, url, cause) => {
    await using server = await startRedis();
    const { opened, told } = await open(url.replace("PORT", `${server.port}`));
    await using counters = opened;
    expect([counters.isAway, told]).toEqual([true, [expect.stringMatching(cause)]]);
    expect(String(told)).not.toContain("secret");
  },
);

test("a command that Redis refuses is told without what was sent", async () => {
  await using server = await startRedis();
  const operator = new Redis(server.url);
  await operator.call("ACL", "SETUSER", "delivery", "on", ">secret", "~*", "&*", "+@all", "-zadd");
  const errors: unknown[] = [];
  await using opened = await openShared({
    redisUrl: server.url.replace("://", "://delivery:secret@"),
    kind: "delivery",
    process: "a",
    timeoutMs: PATIENCE_MS,
    onAway: (error) => errors.push(error),
    onBack: () => {},
  });
  operator.disconnect();
  expect(opened.isAway).toBe(true);
  expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining("NOPERM") })]);
  expect(Object.keys(errors[0] as object)).toEqual([]);
});

test("a node notices without any call that Redis has gone, and that it is back", async () => {
  const first = await startRedis();
  const { opened, told } = await open(first.url);
  await using counters = opened;
  await expect.poll(() => counters.isAway).toBe(false);
  await first.stop();
  await expect.poll(() => counters.isAway).toBe(true);
  await using second = await startRedis({ port: first.port });
  expect(second.port).toBe(first.port);
  await expect.poll(() => counters.isAway).toBe(false);
  expect([told[0] !== "back", told.at(-1)]).toEqual([true, "back"]);
});
