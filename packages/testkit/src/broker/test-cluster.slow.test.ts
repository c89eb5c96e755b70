import { connect, headers } from "@nats-io/transport-node";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { findFreePort } from "../network/free-port.ts";
import { startTestCluster } from "./test-cluster.ts";
import type { ClusterNode } from "./test-cluster-node.ts";

vi.mock("../network/free-port.ts", { spy: true });

const STREAM = { name: "T", subjects: ["t.>"], storage: "file", num_replicas: 3 };

test("a cluster of three goes on when the leader of a stream is killed, and takes it back with what it stored", async () => {
  await using cluster = await startTestCluster();
  const nc = await connect({ servers: cluster.url.split(","), maxReconnectAttempts: -1 });
  /** A message that is sent again because its answer was lost is stored once, by its id. */
  const ask = async (subject: string, payload: unknown, { id = "", timeout = 60_000 } = {}) => {
    const sent = headers();
    if (id) sent.set("Nats-Msg-Id", id);
    const answer = await nc.request(subject, JSON.stringify(payload), { timeout, headers: sent });
    return answer.json<Record<string, unknown>>();
  };
  await ask("$JS.API.STREAM.CREATE.T", STREAM);
  expect(await ask("t.1", {})).toMatchObject({ stream: "T", seq: 1 });

  let leader: ClusterNode | undefined;
  await expect.poll(async () => (leader = await cluster.leaderOf("T"))).toBeDefined();
  const { pid } = leader!;
  await leader!.kill("SIGKILL");
  await expect.poll(() => cluster.leaderOf("T")).not.toBeOneOf([undefined, leader]);
  const publish = () => ask("t.1", {}, { id: "second", timeout: 5_000 }).catch(() => undefined);
  await expect.poll(publish).toMatchObject({ stream: "T", seq: 2 });
  await leader!.restart();
  expect(leader!.pid).not.toBe(pid);
  await cluster.healthy();
  expect(await ask("t.1", {})).toMatchObject({ stream: "T", seq: 3 });
  await nc.close();
});

test("a cluster takes other ports when a process of another run was faster", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port: taken } = other.address() as AddressInfo;
  vi.mocked(findFreePort).mockClear().mockResolvedValueOnce(taken);
  try {
    await using cluster = await startTestCluster();
    expect(cluster.nodes.map(({ port }) => port)).not.toContain(taken);
    expect(findFreePort).toHaveBeenCalledTimes(2 * 9);
  } finally {
    other.close();
  }
});
