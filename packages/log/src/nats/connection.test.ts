import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { connectBroker } from "./connection.ts";
import { watchConnection } from "./watch-connection.ts";

/** As much of a NATS server as a connection takes. It lets clients in, or refuses their password, as the test says. */
async function startGatekeeper() {
  const sockets = new Set<Socket>();
  let admits = true;
  let refused = 0;
  let onRefusal = () => {};
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.write('INFO {"server_id":"x","version":"2.12.0","headers":true,"max_payload":1048576}\r\n');
    socket.on("data", (bytes) => {
      if (!admits) {
        socket.end("-ERR 'Authorization Violation'\r\n");
        refused++;
        onRefusal();
      } else if (bytes.includes("PING")) socket.write("PONG\r\n");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dropAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `nats://user:password@127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Drops all connections, and resolves when so many attempts to come back were refused. */
    async refuse(times: number) {
      const { promise, resolve } = Promise.withResolvers<void>();
      onRefusal = () => refused >= times && resolve();
      admits = false;
      dropAll();
      await promise;
    },
    admit: () => void (admits = true),
    async [Symbol.asyncDispose]() {
      server.close();
      dropAll();
      await once(server, "close");
    },
  };
}

test("a broker that refuses the password for a while, as one that is set up anew does, is dialled until it takes it", async () => {
  await using gatekeeper = await startGatekeeper();
  await using broker = await connectBroker({ url: gatekeeper.url, name: "test" });
  const connections = [broker.main, broker.reads];
  const back = connections.map(
    (connection) => new Promise<void>((onUp) => watchConnection(connection, { onUp })),
  );
  await Promise.race([gatekeeper.refuse(8), ...connections.map((connection) => connection.closed())]);
  expect(connections.map((connection) => connection.isClosed())).toEqual([false, false]);
  gatekeeper.admit();
  await Promise.all(back);
});
