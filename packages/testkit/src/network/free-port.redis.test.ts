import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { findFreePort } from "./free-port.ts";
import { startRedis } from "../process/redis.ts";
import { startStoredBroker } from "../broker/start-test-broker.ts";

vi.mock("./free-port.ts", { spy: true });

test.each([
  ["a broker", startStoredBroker],
  ["Redis", startRedis],
])("%s takes another port when a process of another run was faster", async (_what, start) => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port: taken } = other.address() as AddressInfo;
  vi.mocked(findFreePort).mockClear().mockResolvedValueOnce(taken);
  try {
    await using server = await start();
    expect(server.port).not.toBe(taken);
    expect(findFreePort).toHaveBeenCalledTimes(2);
  } finally {
    other.close();
  }
});
