import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { startStoredBroker, startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { connectBroker } from "./connection.ts";
import { inboxOf } from "./reply-inbox.ts";
import { watchConnection } from "./watch-connection.ts";

/**
 * Starts the part of a NATS server that a connection needs. It lets clients in, or refuses their password, as the test says.
 * @param late how many of the first connections are closed as if their credentials had come too late
 */
async function startGatekeeper({ late = 0 } = {}) {
  const sockets = new Set<Socket>();
  let left = late;
  let admits = true;
  let refused = 0;
  let onRefusal = () => {};
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.write('INFO {"server_id":"x","version":"2.12.0","headers":true,"max_payload":1048576}\r\n');
    socket.on("data", (bytes) => {
      if (left > 0) {
        left--;
        socket.end("-ERR 'Authentication Timeout'\r\n");
      } else if (!admits) {
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
    /** Drops all connections, and resolves when this number of attempts to reconnect were refused. */
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

test("a broker that has waited too long for the credentials is dialled again", async () => {
  await using gatekeeper = await startGatekeeper({ late: 3 });
  await using broker = await connectBroker({ url: gatekeeper.url, name: "test" });
  expect(broker.main.isClosed()).toBe(false);
});

test("a broker that never waits long enough is not dialled for ever", async () => {
  await using gatekeeper = await startGatekeeper({ late: Infinity });
  await expect(connectBroker({ url: gatekeeper.url, name: "test" })).rejects.toMatchObject({
    code: "broker_unavailable",
    message: expect.stringContaining("no credentials of this process in time"),
  });
});

test("a broker that refuses the password for a while, as one that is set up again does, is dialled until it takes it", async () => {
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

test("what a callback of a request throws is reported, and the connection continues", async () => {
  await using server = await startTestBroker();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  await using broker = await connectBroker({ url: server.url, name: "test", onError });
  for (const connection of [broker.main, broker.reads, broker.bulk]) {
    const thrown = new Error("a defect");
    const handler = () => {
      throw thrown;
    };
    inboxOf(connection).request("not.subscribed", "", { timeoutMs: 60_000, handler });
    expect(await inboxOf(connection).ask("not.subscribed", "", 60_000)).toBe("no_responders");
    expect(errors.pop()).toBe(thrown);
  }
});

test("a connection that drains sends no more requests", async () => {
  await using server = await startTestBroker();
  await using broker = await connectBroker({ url: server.url, name: "test" });
  const heard: string[] = [];
  broker.reads.subscribe("heard", { callback: (_, msg) => void heard.push(msg.string()) });
  await broker.reads.flush();
  const drained = broker.main.drain();
  expect(await inboxOf(broker.main).ask("heard", "late", 60_000)).toBe("disconnected");
  await drained;
  await broker.reads.flush();
  expect(heard).toEqual([]);
});

test("connections are spread over the servers of a cluster, and return to one that was away", async () => {
  await using first = await startStoredBroker();
  await using second = await startStoredBroker();
  await using third = await startStoredBroker();
  const servers = [first, second, third];
  const url = servers.map((server) => server.url).join(",");
  await using broker = await connectBroker({ url, name: "test", returnEveryMs: 50 });
  const connections = [broker.main, broker.reads, broker.bulk];
  const places = () => connections.map((connection) => connection.getServer());
  const before = places();
  expect(new Set(before).size).toBe(3);
  const lost = servers.find((server) => server.url.endsWith(before[0] ?? "-"));
  const moved = new Promise<void>((onUp) => watchConnection(broker.main, { onUp }));
  await lost?.kill("SIGKILL");
  await moved;
  expect(places()[0]).not.toBe(before[0]);
  await lost?.restart();
  await expect.poll(places).toEqual(before);
});
