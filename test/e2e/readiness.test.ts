import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

test("without its broker a process is alive and not ready, and ready again once that is back", async () => {
  await using cluster = await startCluster();
  const [delivery, worker] = await Promise.all([
    cluster.startDelivery(),
    cluster.startWorker({ REPRISE_OPS_PORT: "0" }),
  ]);
  const { ops } = await worker.logged("taking jobs");
  const statusesOf = (path: string) =>
    Promise.all([delivery.url, String(ops)].map(async (url) => (await fetch(url + path)).status));
  expect(await statusesOf("/healthz")).toEqual([200, 200]);
  await expect.poll(() => statusesOf("/readyz")).toEqual([200, 200]);
  await cluster.server.kill("SIGKILL");
  await expect.poll(() => statusesOf("/readyz")).toEqual([503, 503]);
  expect(await statusesOf("/healthz")).toEqual([200, 200]);
  await cluster.server.restart();
  await expect.poll(() => statusesOf("/readyz")).toEqual([200, 200]);
});
