import { connect, headers } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { createAckLedger } from "./ack-ledger.ts";
import { startTcpProxy } from "../network/tcp-proxy.ts";
import { startStoredBroker } from "../broker/start-test-broker.ts";

const CAP = { timeout: 120_000 };

/** A broker with one stream, a proxy before it whose bytes a ledger sees, and a connection through the proxy. */
async function openTapped() {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startStoredBroker());
  const acks = createAckLedger((subject) => subject.startsWith("gen."));
  const tap = () => acks.tap("worker-1");
  const proxy = stack.use(await startTcpProxy({ target: { port: broker.port }, tap }));
  const connection = await connect({ servers: `127.0.0.1:${proxy.port}`, reconnect: false });
  stack.defer(() => connection.close());
  const config = { name: "LOGS", subjects: ["gen.>", "job.>"], storage: "file" };
  await connection.request("$JS.API.STREAM.CREATE.LOGS", JSON.stringify(config), CAP);
  const running = stack.move();
  return { acks, proxy, connection, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

test("keeps what the broker acknowledged, and nothing that it refused or that was another's subject", async () => {
  await using link = await openTapped();
  const { acks, connection } = link;
  await connection.request("gen.0.acme.one", "first", CAP);
  await connection.request("job.sim", "a job", CAP);
  const wrong = headers();
  wrong.set("Nats-Expected-Last-Subject-Sequence", "9");
  await connection.request("gen.0.acme.one", "refused", { ...CAP, headers: wrong });
  const right = headers();
  right.set("Nats-Expected-Last-Subject-Sequence", "1");
  await connection.request("gen.0.acme.one", "second", { ...CAP, headers: right });
  await expect(connection.request("gen.", "nowhere", CAP)).rejects.toThrow();
  expect(acks.of("gen.0.acme.one").map(({ payload, streamSeq, by }) => [payload, streamSeq, by])).toEqual([
    ["first", 1, "worker-1"],
    ["second", 3, "worker-1"],
  ]);
  expect(acks.of("job.sim")).toEqual([]);
});

test("keeps an acknowledgement that never arrived", async () => {
  await using link = await openTapped();
  const { acks, proxy, connection } = link;
  proxy.setFaults({ toClient: { dropped: true } });
  const acked = acks.next(({ subject }) => subject === "gen.0.acme.one");
  const answered = connection.request("gen.0.acme.one", "stored", CAP).catch(() => "no answer");
  expect((await acked).payload).toBe("stored");
  proxy.cutNow();
  expect(await answered).toBe("no answer");
});

test("takes back what was acknowledged after the moment to which a store went back", async () => {
  await using link = await openTapped();
  const { acks, connection } = link;
  await connection.request("gen.0.acme.one", "kept", CAP);
  const mark = acks.mark();
  await connection.request("gen.0.acme.one", "lost", CAP);
  await connection.request("gen.0.acme.two", "lost", CAP);
  acks.rollBack(mark);
  expect(acks.of("gen.0.acme.one").map(({ payload }) => payload)).toEqual(["kept"]);
  expect(acks.of("gen.0.acme.two")).toEqual([]);
});
