import { rm } from "node:fs/promises";
import { eventually, PATIENCE_MS, startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker } from "../nats/connection.ts";
import { ensureTopology } from "./topology.ts";
import { removeServer } from "./remove-server.ts";
import { isWhole, readStreamHealth } from "./stream-health.ts";

/*
 * The recipes of docs/operations/disaster.md for lost servers. A stream is made with three replicas, holds messages, and has to have each of them in the end.
 */

const TOPOLOGY = { shards: 1, replicas: 3, retentionMs: 3_600_000 };
const STREAM = "GENERATIONS_0";
const MESSAGES = 50;
const OPERATOR = { user: "operator", password: "operator-of-this-test" };
const USERS = {
  accounts: {
    SYS: { users: [OPERATOR] },
    APP: { jetstream: true, users: [{ user: "app", password: "app" }] },
  },
  system_account: "SYS",
  no_auth_user: "app",
};

async function openStored(nodes: number) {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startTestCluster({ nodes, extraConfig: USERS }));
  const broker = stack.use(await connectBroker({ url: cluster.url, name: "test" }));
  await ensureTopology(broker.main, TOPOLOGY);
  const store = { name: "KEPT", subjects: ["kept"], num_replicas: 3 };
  await broker.main.request("$JS.API.STREAM.CREATE.KEPT", JSON.stringify(store), { timeout: PATIENCE_MS });
  for (let n = 0; n < MESSAGES; n++) await broker.main.request("kept", `${n}`, { timeout: PATIENCE_MS });
  const read = () => readStreamHealth(broker.bulk).catch(() => []);
  const isAll = async () => {
    const all = await read();
    return all.length > 0 && all.every(isWhole);
  };
  await expect.poll(isAll).toBe(true);
  const asOperator = async () => connectBroker({ url: cluster.url, access: OPERATOR, name: "operator" });
  const kept = async () => (await read()).find(({ name }) => name === "KEPT");
  const owned = stack.move();
  return {
    cluster,
    broker,
    isAll,
    kept,
    asOperator,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test("a server that is lost for good is removed, and another one takes its replicas", async () => {
  await using world = await openStored(4);
  await using operator = await world.asOperator();
  const lost = await eventually(async () => {
    const leader = await world.cluster.leaderOf(STREAM);
    expect(leader).toBeDefined();
    return leader;
  });
  await expect(removeServer(operator.main, lost!.name)).rejects.toMatchObject({ code: "config_invalid" });
  await expect(removeServer(world.broker.main, lost!.name)).rejects.toMatchObject({
    code: "broker_unavailable",
  });
  await lost!.kill("SIGKILL");
  await rm(lost!.storeDir, { recursive: true });
  const left = world.cluster.nodes.filter((node) => node !== lost);
  await expect
    .poll(async () => (await world.cluster.leaderOf(STREAM))?.name)
    .toBeOneOf(left.map(({ name }) => name));
  expect(await world.isAll()).toBe(false);
  await removeServer(operator.main, lost!.name);
  await expect.poll(world.isAll).toBe(true);
  expect(await world.kept()).toMatchObject({ messages: MESSAGES, replicas: 3 });
  await expect(removeServer(operator.main, "nats-9")).rejects.toMatchObject({ code: "config_invalid" });
});

test("without another one a removal leaves streams with two replicas, which are not whole, and take appends", async () => {
  await using world = await openStored(3);
  await using operator = await world.asOperator();
  const [lost] = world.cluster.nodes;
  await lost!.kill("SIGKILL");
  await eventually(() => removeServer(operator.main, lost!.name));
  const behind = async () => (await world.kept())?.behind;
  await expect.poll(behind).toEqual([{ server: "a further server", why: "is missing" }]);
  const answer = await world.broker.main.request("kept", "one more", { timeout: PATIENCE_MS });
  expect(answer.json()).toMatchObject({ seq: MESSAGES + 1 });
});

test("an empty server under the lost one's name gets everything", async () => {
  await using world = await openStored(3);
  const [lost] = world.cluster.nodes;
  await lost!.kill("SIGKILL");
  await rm(lost!.storeDir, { recursive: true });
  await lost!.restart();
  await expect.poll(world.isAll).toBe(true);
  expect(await world.kept()).toMatchObject({ messages: MESSAGES, behind: [] });
});

test("what one server has left of a lost quorum is enough, if it starts before the two empty ones", async () => {
  await using world = await openStored(3);
  const [survivor, ...lost] = world.cluster.nodes;
  for (const node of lost) {
    await node.kill("SIGKILL");
    await rm(node.storeDir, { recursive: true });
  }
  expect(await world.isAll()).toBe(false);
  const before = survivor!.pid;
  const starting = [survivor!.restart()];
  await expect.poll(() => survivor!.pid).not.toBe(before);
  starting.push(...lost.map((node) => node.restart()));
  await Promise.all(starting);
  await expect.poll(world.isAll).toBe(true);
  expect(await world.kept()).toMatchObject({ messages: MESSAGES, behind: [] });
});
