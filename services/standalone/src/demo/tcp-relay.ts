import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { resetSocket } from "@reprise/runtime";

export interface TcpRelay extends AsyncDisposable {
  /** The relay's own address, to be used in the target's place. */
  readonly url: string;
  /** Destroys every connection that runs through the relay, as a network that drops does. Returns how many there were. */
  cut(): number;
}

/** A wire between client and platform that can be cut. */
export async function openTcpRelay(target: string): Promise<TcpRelay> {
  const { hostname, port } = new URL(target);
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    clients.add(client);
    client.on("close", () => clients.delete(client));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.setNoDelay();
      from.pipe(to);
      from.on("error", () => {});
      from.on("close", () => to.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    const count = clients.size;
    for (const client of clients) resetSocket(client);
    return count;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
