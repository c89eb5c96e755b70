import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { connectBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { RepriseError } from "@reprise/protocol";
import { startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  BROKER_SERVICE_NAMES,
  type BrokerServiceContext,
  type BrokerServiceEnvironment,
  startBrokerService,
} from "./broker-service.ts";
import { parseEnvironment } from "../environment/environment.ts";

/** A service that is ready once it is told so, and says whether the broker was still there when it was disposed of. */
function createProbe(env: BrokerServiceEnvironment) {
  const reasons = ["warming up"];
  const brokerWasClosed: boolean[] = [];
  const lines: unknown[] = [];
  let broker: BrokerServiceContext["brokerWatch"] | undefined;
  const start = ({ broker: { main }, logger, brokerWatch }: BrokerServiceContext) => {
    broker = brokerWatch;
    logger.info = (line: unknown) => lines.push(line);
    logger.warn = (line: unknown) => lines.push(line);
    return Promise.resolve({
      does: "probing",
      details: { color: "blue" },
      reload: () => Promise.resolve(),
      service: {
        notReadyBecause: () => reasons,
        async [Symbol.asyncDispose]() {
          brokerWasClosed.push(main.isClosed());
        },
      },
    });
  };
  return {
    reasons,
    brokerWasClosed,
    lines,
    open: () => startBrokerService("moderation", env, start),
    tellStale: (failure: RepriseError | undefined) => broker?.onStale("the tenants", failure),
  };
}

function parse(natsUrl: string, opsPort?: number) {
  const port = opsPort === undefined ? {} : { REPRISE_OPS_PORT: String(opsPort) };
  return parseEnvironment({ REPRISE_NATS_URL: natsUrl, ...port }, BROKER_SERVICE_NAMES, ["REPRISE_NATS_URL"]);
}

test("a service after the broker is asked how it is over HTTP, and is stopped before its broker", async () => {
  await using server = await startTestBroker();
  const probe = createProbe(parse(server.url, 0));
  const running = await probe.open();
  const [line] = probe.lines as { color: string; ops: string }[];
  expect(line).toMatchObject({ color: "blue" });
  expect((await fetch(`${line!.ops}/readyz`)).status).toBe(503);
  probe.reasons.pop();
  expect((await fetch(`${line!.ops}/readyz`)).status).toBe(200);
  await running.stop();
  expect(probe.brokerWasClosed).toEqual([false]);
  await expect(fetch(`${line!.ops}/healthz`)).rejects.toThrow();
});

test("a service fails when the broker's logs are spread over another number of shards", async () => {
  await using server = await startTestBroker();
  const running = await createProbe(parse(server.url)).open();
  await using broker = await connectBroker({ url: server.url, name: "test" });
  const count = new TextEncoder().encode(JSON.stringify({ shards: 5 }));
  await createGenerationLog(broker).publish("lease.shards.work.count", count, { writer: "test" });
  await expect(running.failed).rejects.toMatchObject({
    code: "broker_incompatible",
    param: "REPRISE_SHARDS",
  });
  await running.stop();
});

test("a follower that can't read the broker makes its process not ready, with its reason, and one line", async () => {
  await using server = await startTestBroker();
  const probe = createProbe(parse(server.url, 0));
  const running = await probe.open();
  const [line] = probe.lines as { ops: string }[];
  probe.reasons.pop();
  const failure = new RepriseError("broker_unavailable", "no leader");
  probe.tellStale(failure);
  const answer = await fetch(`${line!.ops}/readyz`);
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: "not_ready", because: ["the tenants can't be followed: no leader"] },
  ]);
  expect(probe.lines.slice(1)).toEqual([{ what: "the tenants", because: "no leader" }]);
  probe.tellStale(undefined);
  expect((await fetch(`${line!.ops}/readyz`)).status).toBe(200);
  expect(probe.lines.slice(2)).toEqual([{ what: "the tenants", awayMs: expect.any(Number) as number }]);
  await running.stop();
});

test("without a port of its own there is no ops server", async () => {
  await using server = await startTestBroker();
  const probe = createProbe(parse(server.url));
  const running = await probe.open();
  expect(probe.lines).toEqual([{ color: "blue", ops: undefined }]);
  await running.stop();
});

test("a service whose ops port is taken is not started", async () => {
  await using server = await startTestBroker();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const probe = createProbe(parse(server.url, (taken.address() as AddressInfo).port));
  await expect(probe.open()).rejects.toMatchObject({ code: "config_invalid", param: "REPRISE_OPS_PORT" });
  expect(probe.lines).toEqual([]);
  taken.close();
});
