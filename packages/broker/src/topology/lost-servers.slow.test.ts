import { rm } from "node:fs/promises";
import { headers } from "@nats-io/transport-node";
import { eventually, startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Broker, connectBroker } from "../nats/connection.ts";
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

/** @throws what the broker refuses it for, and where it has no leader that could answer */
async function ask({ main }: Broker, subject: string, payload: unknown, id?: string): Promise<object> {
  const sent = headers();
  if (id !== undefined) sent.set("Nats-Msg-Id", id);
  const answer = await main.request(subject, JSON.stringify(payload), { timeout: 5_000, headers: sent });
  const { error, ...said } = answer.json<{ error?: { description: string } }>();
  if (error) throw new Error(error.description);
  return said;
}

/** A message that is sent again because its answer did not come is stored once, by its id. */
const store = (broker: Broker, id: string) => eventually(() => ask(broker, "kept", id, id));

async function openStored(nodes: number) {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startTestCluster({ nodes, extraConfig: USERS }));
  const broker = stack.use(await connectBroker({ url: cluster.url, name: "test" }));
  await ensureTopology(broker.main, TOPOLOGY);
  const config = { name: "KEPT", subjects: ["kept"], num_replicas: 3 };
  await eventually(() => ask(broker, "$JS.API.STREAM.CREATE.KEPT", config));
  for (let n = 0; n < MESSAGES; n++) await store(broker, `${n}`);
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
  await eventually(() => removeServer(operator.main, lost!.name));
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
  const lagging = async () => (await world.kept())?.lagging;
  await expect.poll(lagging).toEqual([{ server: "a further server", why: "is missing" }]);
  expect(await store(world.broker, "one more")).toMatchObject({ seq: MESSAGES + 1 });
});

test("an empty server under the lost one's name gets everything", async () => {
  await using world = await openStored(3);
  const [lost] = world.cluster.nodes;
  await lost!.kill("SIGKILL");
  await rm(lost!.storeDir, { recursive: true });
  await lost!.restart();
  await expect.poll(world.isAll).toBe(true);
  expect(await world.kept()).toMatchObject({ messages: MESSAGES, lagging: [] });
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
  expect(await world.kept()).toMatchObject({ messages: MESSAGES, lagging: [] });
});
