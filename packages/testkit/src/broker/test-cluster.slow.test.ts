import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { findFreePort } from "../network/free-port.ts";
import { startTestCluster } from "./test-cluster.ts";

vi.mock("../network/free-port.ts", { spy: true });

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
