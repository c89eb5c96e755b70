import { expect } from "vitest";
import type { openWorldBehindProxy } from "./world.ts";

type WorldBehindProxy = Awaited<ReturnType<typeof openWorldBehindProxy>>;

/** A call that begins while the connections of a world are down, which come back then. */
export async function callAway<T>({ proxy, log }: WorldBehindProxy, call: () => Promise<T>): Promise<T> {
  proxy.setFaults({ toClient: { cutAfterBytes: 0 } });
  proxy.cutNow();
  await expect.poll(() => log.connected).toBe(false);
  const called = call();
  proxy.setFaults({});
  return called;
}
