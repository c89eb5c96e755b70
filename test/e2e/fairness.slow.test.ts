import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isTerminal, type KnownEvent } from "@reprise/protocol";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const SLOTS = 4;
const BACKLOG = 40;
const QUEUE_MS = 30_000;
const ENDLESS = { tokens: 1_000_000, tokens_per_second: 10 };
const SHORT = { tokens: 5, tokens_per_second: 0 };

const isBegun = ({ type }: KnownEvent) => type === "generation.started";
const isEnd = ({ type }: KnownEvent) => isTerminal(type);

interface TenantsFile {
  tenants: { id: string; slots?: object }[];
}

/** A platform with one worker and two tenants; `slots` limits the first tenant. */
async function openPlatform(slots?: { max: number }) {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("fairness"));
  const modelsFile = join(dir.path, "models.json");
  const models = { sim: { engine: "sim", slots: SLOTS, reserve: 1 } };
  await writeFile(modelsFile, JSON.stringify({ models }));
  const cluster = stack.use(await startCluster({ tenants: ["acme", "globex"] }));
  const file = JSON.parse(await readFile(cluster.tenantsFile, "utf8")) as TenantsFile;
  if (slots) file.tenants[0]!.slots = slots;
  await writeFile(cluster.tenantsFile, JSON.stringify(file));
  const env = { REPRISE_MODELS_FILE: modelsFile };
  const [{ url }] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const create = async (tenant: string, options: object) => {
    const policy = { timeouts: { queue: { after_ms: QUEUE_MS } } };
    const response = await fetch(`${url}/v1/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${cluster.keys[tenant]}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sim", input: "Go.", options, policy }),
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { id: string }).id;
  };
  const createAll = (tenant: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => create(tenant, ENDLESS)));
  const untilBegunOrEnded = (tenant: string, id: string) =>
    cluster.untilLog(tenant, id, (log) => log.some((event) => isBegun(event) || isEnd(event)));
  const kept = stack.move();
  return { cluster, create, createAll, untilBegunOrEnded, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("a tenant's backlog runs into queue_timeout, and no generation of a tenant below its share does", async () => {
  await using platform = await openPlatform();
  const { cluster, create, createAll, untilBegunOrEnded } = platform;
  const runShort = async () => {
    const id = await create("globex", SHORT);
    const events = await cluster.untilLog("globex", id, (log) => log.some(isEnd));
    return events.at(-1)?.type;
  };
  const ends = [await runShort()];
  const backlog = await createAll("acme", BACKLOG);
  let isSettled = false;
  const settled = Promise.all(backlog.map((id) => untilBegunOrEnded("acme", id))).finally(
    () => (isSettled = true),
  );
  while (!isSettled) ends.push(await runShort());
  const logs = await settled;
  expect(new Set(ends)).toEqual(new Set(["generation.completed"]));
  const timedOut = logs.filter((log) =>
    log.some((event) => event.type === "generation.failed" && event.error.code === "queue_timeout"),
  );
  const begun = logs.filter((log) => log.some(isBegun));
  expect([begun.length, timedOut.length]).toEqual([SLOTS - 1, BACKLOG - SLOTS + 1]);
});

test("a tenant has no more slots than its record says, and what it may not have is another tenant's", async () => {
  await using platform = await openPlatform({ max: 2 });
  const { cluster, createAll, untilBegunOrEnded } = platform;
  const capped = await createAll("acme", SLOTS);
  const others = await createAll("globex", 2);
  const logs = await Promise.all(others.map((id) => untilBegunOrEnded("globex", id)));
  expect(logs.map((log) => log.some(isBegun))).toEqual([true, true]);
  const stored = await Promise.all(capped.map((id) => cluster.readLog("acme", id)));
  const begun = stored.filter((log) => log.some((event) => event.includes('"generation.started"')));
  expect(begun).toHaveLength(2);
});
