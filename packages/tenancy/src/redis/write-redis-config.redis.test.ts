import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createTempDir,
  createTestCertificates,
  findFreePort,
  startOnFreePorts,
  startRedis,
} from "@reprise/testkit";
import { Redis } from "ioredis";
import { parseTenantId } from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LimitCheck } from "../limits/counters.ts";
import type { BudgetAccount } from "../budgets/budget-account.ts";
import { openShared } from "../open-shared.ts";
import { writeRedisConfig } from "./write-redis-config.ts";

const HOST = "127.0.0.1";
const CHECKS: readonly LimitCheck[] = [
  { kind: "rate", name: "requests", key: "{acme}:requests", limit: 10, windowMs: 60_000, cost: 1 },
  { kind: "lease", name: "readers", key: "{acme}:readers", limit: 10, member: "a", ttlMs: 60_000 },
];

const startConfigured = (options = {}) => startOnFreePorts(() => configureAndStart(options));

async function configureAndStart({ isSecured = false }) {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("redis-config"));
  const certificates = await createTestCertificates(join(dir.path, "certificates"));
  const { cert, key } = await certificates.issue("redis", [HOST]);
  const tls = isSecured ? { caFile: certificates.ca, certFile: cert, keyFile: key } : undefined;
  const port = await findFreePort();
  const { configFile, urlFiles } = await writeRedisConfig({
    dir: join(dir.path, "redis"),
    host: HOST,
    port,
    tls,
  });
  stack.use(await startRedis({ port, configFile }));
  const [url, workerUrl] = await Promise.all(
    [urlFiles.delivery, urlFiles.worker].map(async (file) => (await readFile(file, "utf8")).trim()),
  );
  if (url === undefined || workerUrl === undefined) throw new Error("A URL is missing.");
  const opened = stack.move();
  return {
    url,
    workerUrl,
    ca: certificates.ca,
    dir: dir.path,
    port,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

test("delivery's user may do all that the limits need", async () => {
  await using server = await startConfigured();
  const told: unknown[] = [];
  const events = { onAway: (error: unknown) => void told.push(error), onBack: () => {} };
  await using opened = await openShared({ redisUrl: server.url, kind: "delivery", process: "a", ...events });
  const { counters } = opened;
  const { standings } = await counters.take(CHECKS);
  expect(standings.map(({ remaining }) => remaining)).toEqual([9, 9]);
  const [rate, lease] = CHECKS;
  if (rate?.kind !== "rate" || lease?.kind !== "lease") throw new Error("The checks are others.");
  await counters.settle(rate, -1);
  await counters.release([lease]);
  expect((await counters.take(CHECKS)).standings.map(({ remaining }) => remaining)).toEqual([9, 9]);
  // Too much is owed, so a script stores what is left of it; then nothing is, and the key goes.
  await counters.settle(rate, 100);
  await counters.take(CHECKS);
  await counters.settle(rate, -100);
  expect([opened.isAway, told]).toEqual([false, []]);
  const redis = new Redis(server.url);
  expect(await redis.zcard("reprise:nodes")).toBe(1);
  redis.disconnect();
});

const BUDGET: BudgetAccount = {
  tenant: parseTenantId("acme"),
  name: "month",
  key: "{acme}.month.2026-11",
  limit: 10,
  endsAtMs: Date.now() + 60_000,
};

test("both users may do all that budgets need", async () => {
  await using server = await startConfigured();
  const told: unknown[] = [];
  const events = { onAway: (error: unknown) => void told.push(error), onBack: () => {} };
  await using delivery = await openShared({
    redisUrl: server.url,
    kind: "delivery",
    process: "a",
    ...events,
  });
  await using worker = await openShared({
    redisUrl: server.workerUrl,
    kind: "worker",
    process: "b",
    ...events,
  });
  const claim = { account: BUDGET, used: 0, want: 8 };
  await delivery.ledger.reserve("one", [{ ...claim, need: 1 }]);
  expect(await worker.ledger.claim("one", [{ ...claim, used: 4 }])).toEqual([{ granted: 10, remaining: 0 }]);
  await worker.ledger.settle("one", [{ account: BUDGET, used: 7 }]);
  expect(await delivery.ledger.claim("two", [claim])).toEqual([{ granted: 3, remaining: 0 }]);
  expect(await delivery.ledger.seed([{ account: BUDGET, ended: 9 }])).toEqual([{ before: 7, after: 9 }]);
  expect([delivery.isAway, worker.isAway, told]).toEqual([false, false, []]);
});

test.each([
  ["get", "reprise:{acme}.tenant.requests_per_minute.all"],
  ["zadd", "reprise:nodes", "1", "a"],
  ["set", "reprise:budget:{acme}.month", "1"],
  ["keys", "*"],
  ["flushall"],
])("a worker's user may not %s %j", async (command, ...args) => {
  await using server = await startConfigured();
  const redis = new Redis(server.workerUrl, { lazyConnect: true, enableReadyCheck: false });
  await expect(redis.call(command, ...args)).rejects.toThrow(/NOPERM/);
  redis.disconnect();
});

describe("delivery's user", () => {
  let server: Awaited<ReturnType<typeof startConfigured>>;
  beforeAll(async () => (server = await startConfigured()));
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    ["get", "other:key"],
    ["set", "other:key", "1"],
    ["eval", "return redis.call('GET', KEYS[1])", 1, "other:key"],
    ["eval", "return redis.call('KEYS', '*')", 0],
    ["keys", "*"],
    ["scan", 0],
    ["flushall"],
    ["config", "get", "*"],
    ["acl", "list"],
    ["acl", "setuser", "delivery", "+@all"],
    ["client", "list"],
    ["client", "kill", "type", "normal"],
    ["monitor"],
    ["module", "list"],
    ["replicaof", "127.0.0.1", 1],
    ["script", "flush"],
    ["shutdown", "nosave"],
    ["publish", "channel", "text"],
    ["subscribe", "channel"],
  ])("may not %s %j", async (command, ...args) => {
    const redis = new Redis(server.url, { lazyConnect: true, enableReadyCheck: false });
    await expect(redis.call(command, ...args.map(String))).rejects.toThrow(
      /NOPERM|ACL failure in script|The user executing the script can't/,
    );
    redis.disconnect();
  });
});

test("a caller without a user, or with a wrong password, is refused", async () => {
  await using server = await startConfigured();
  for (const login of ["", "delivery:wrong@", "default:@"]) {
    const redis = new Redis(`redis://${login}${HOST}:${server.port}`, {
      lazyConnect: true,
      retryStrategy: null,
    });
    redis.on("error", () => {});
    await expect(redis.get("reprise:nodes")).rejects.toThrow(/NOAUTH|WRONGPASS|closed/);
    redis.disconnect();
  }
});

test("the operator may do everything", async () => {
  await using server = await startConfigured();
  const password = (await readFile(join(server.dir, "redis", "operator.secret"), "utf8")).trim();
  const redis = new Redis(`redis://operator:${password}@${HOST}:${server.port}`);
  expect(await redis.set("other:key", "1")).toBe("OK");
  redis.disconnect();
});

test("with certificates it is spoken to over TLS alone, and no file but the secrets has a password", async () => {
  await using server = await startConfigured({ isSecured: true });
  expect(server.url).toMatch(/^rediss:/);
  const ca = await readFile(server.ca, "utf8");
  const redis = new Redis(server.url, { tls: { ca } });
  expect(await redis.get("reprise:key")).toBeNull();
  redis.disconnect();
  const password = new URL(server.url).password;
  for (const file of ["redis.conf", "users.acl"])
    expect(await readFile(join(server.dir, "redis", file), "utf8")).not.toContain(password);
});
