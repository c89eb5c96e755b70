import { findFreePort } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { startCluster } from "./testing/cluster.ts";

vi.setConfig({ testTimeout: 60_000 });

test("without its broker a process is alive and not ready, and ready again once that is back", async () => {
  await using cluster = await startCluster();
  const opsPort = await findFreePort();
  const [delivery] = await Promise.all([
    cluster.startDelivery(),
    cluster.startWorker({ REPRISE_OPS_PORT: String(opsPort) }),
  ]);
  for (const url of [delivery.url, `http://127.0.0.1:${opsPort}`]) {
    const statusOf = async (path: string) => (await fetch(`${url}${path}`)).status;
    expect([await statusOf("/healthz"), await statusOf("/readyz")]).toEqual([200, 200]);
    await cluster.server.kill("SIGKILL");
    await expect.poll(() => statusOf("/readyz"), { timeout: 10_000 }).toBe(503);
    expect(await statusOf("/healthz")).toBe(200);
    await cluster.server.restart();
    await expect.poll(() => statusOf("/readyz"), { timeout: 10_000 }).toBe(200);
  }
});
