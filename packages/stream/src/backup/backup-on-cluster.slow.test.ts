import { generationsStream } from "@reprise/protocol";
import { createTempDir, eventually, startTestCluster } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker, getStreamInfo, readStreamInfo } from "@reprise/broker";
import { openWorld } from "../testing/world.ts";
import { contentsOf, fill } from "./filled.fixture.ts";
import { restoreBackup } from "./restore-backup.ts";
import { takeBackup } from "./take-backup.ts";

test("a backup that was restored has as many replicas as it is restored with", async () => {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openWorld());
  const { path: dir } = stack.use(await createTempDir("backup"));
  await fill(world);
  await takeBackup(world.broker, { dir });
  const cluster = stack.use(await startTestCluster());
  const broker = stack.use(await connectBroker({ url: cluster.url, name: "cluster" }));
  const { manifest } = await restoreBackup(broker, { dir, replicas: 3 });
  for (const { config } of manifest.streams) {
    const info = await getStreamInfo(broker.reads, config.name);
    expect([config.name, info.config.num_replicas]).toEqual([config.name, 3]);
  }
  await cluster.healthy();
  const name = generationsStream(0);
  expect(await contentsOf(broker, name)).toEqual(await contentsOf(world.broker, name));
  const leader = await eventually(async () => {
    const found = await cluster.leaderOf(name);
    expect(found).toBeDefined();
    return found!;
  });
  await leader.kill("SIGKILL");
  const { created } = await readStreamInfo(world.broker.reads, name);
  // Followers count the stream as made at another time than its first leader does.
  const read = async () => (await readStreamInfo(broker.reads, name).catch(() => undefined))?.created;
  await expect.poll(read).toBe(created);
});
