import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface HttpAddress {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** Has a server listen. @returns its URL, without a slash at the end. @throws what the system says when it can't */
export async function listenHttp(server: Server, { host, port }: HttpAddress): Promise<string> {
  server.listen(port, host);
  await once(server, "listening");
  const { port: taken } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
}
