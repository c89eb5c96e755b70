import { connect } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { startTestCluster } from "./test-cluster.ts";

const STREAM = { name: "T", subjects: ["t.>"], storage: "file", num_replicas: 3 };

test("a cluster of three goes on when the leader of a stream is killed, and takes it back with what it stored", async () => {
  await using cluster = await startTestCluster();
  const nc = await connect({ servers: cluster.url.split(","), maxReconnectAttempts: -1 });
  const ask = async (subject: string, payload: unknown) =>
    (await nc.request(subject, JSON.stringify(payload), { timeout: 5_000 })).json<Record<string, unknown>>();
  await ask("$JS.API.STREAM.CREATE.T", STREAM);
  expect(await ask("t.1", {})).toMatchObject({ stream: "T", seq: 1 });

  const leader = (await cluster.leaderOf("T"))!;
  const { pid } = leader;
  await leader.kill("SIGKILL");
  await expect.poll(() => cluster.leaderOf("T")).not.toBeOneOf([undefined, leader]);
  const publish = () => ask("t.1", {}).catch(() => undefined);
  await expect.poll(publish).toMatchObject({ stream: "T", seq: 2 });
  await leader.restart();
  expect(leader.pid).not.toBe(pid);
  await cluster.healthy();
  expect(await ask("t.1", {})).toMatchObject({ stream: "T", seq: 3 });
  await nc.close();
});
