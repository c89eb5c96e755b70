import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { findFreePort } from "../network/free-port.ts";
import { startStoredBroker } from "./start-test-broker.ts";

vi.mock("../network/free-port.ts", { spy: true });

test("takes another port when a process of another run was faster", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port: taken } = other.address() as AddressInfo;
  vi.mocked(findFreePort).mockResolvedValueOnce(taken);
  try {
    await using broker = await startStoredBroker();
    expect(broker.port).not.toBe(taken);
    expect(findFreePort).toHaveBeenCalledTimes(2);
  } finally {
    other.close();
  }
});
