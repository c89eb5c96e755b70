import { startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker } from "../nats/connection.ts";
import { streamConfigs } from "./stream-configs.ts";
import { ensureTopology } from "./topology.ts";
import { isWhole, readStreamHealth } from "./stream-health.ts";

test("streams of a cluster tell which server is away, and that all is there again once it is back", async () => {
  await using cluster = await startTestCluster();
  await using broker = await connectBroker({ url: cluster.url, name: "test" });
  await ensureTopology(broker.main, { shards: 1, replicas: 3, retentionMs: 3_600_000 });
  /** Undefined while the cluster, or a stream, has no leader. */
  const read = async () => {
    const all = await readStreamHealth(broker.bulk).catch(() => []);
    return all.length > 0 && all.every(({ leader }) => leader !== undefined) ? all : undefined;
  };
  const isAll = async () => (await read())?.every(isWhole);
  await expect.poll(isAll).toBe(true);
  const [lost] = cluster.nodes;
  await lost!.kill("SIGKILL");
  const missing = async () =>
    (await read())?.map(({ replicas, lagging }) => [replicas, lagging.map(({ server }) => server)]);
  const names = streamConfigs({ shards: 1, replicas: 3, retentionMs: 3_600_000 });
  await expect.poll(missing).toEqual(names.map(() => [3, [lost!.name]]));
  await lost!.restart();
  await expect.poll(isAll).toBe(true);
});
