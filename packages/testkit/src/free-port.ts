import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/**
 * A port on 127.0.0.1 that nobody listens on at this moment. Somebody else may take it before the caller does: where a server
 * can choose its own port and say which (port 0), prefer that.
 */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
