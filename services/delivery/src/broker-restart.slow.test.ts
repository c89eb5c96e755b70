import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  callOnce,
  completed,
  createGeneration,
  deltas,
  openPlatform,
  REQUEST,
  started,
} from "./testing/platform.ts";

const headers = authorization();

test("a broker that crashes and comes back is a pause to readers: no error, no gap, nothing twice", async () => {
  await using platform = await openPlatform();
  const { path, worker } = await createGeneration(platform);
  const url = `${platform.node.url}${path}/events`;
  await append(worker, started(), ...deltas(20));
  await using reader = await openSseReader(url, { headers });
  while (reader.frames.length < 21) await reader.nextFrame();

  await platform.server.kill("SIGKILL");
  // Waits in the appender until the broker is back.
  const writing = append(worker, ...deltas(20, 21), completed());
  await expect
    .poll(() => call(`${platform.node.opsUrl}/readyz`))
    .toMatchObject({ status: 503, json: { because: ["not connected to NATS"] } });
  expect((await call(`${platform.node.opsUrl}/healthz`)).status).toBe(200);
  await platform.server.restart();
  await writing;

  expect(await reader.ended).toBe("clean");
  expect(reader.frames.map(({ id }) => id)).toEqual(Array.from({ length: 42 }, (_, i) => `1-${i + 1}`));
  expect(reader.bytes.toString()).not.toContain("event: error");
  await expect.poll(async () => (await call(`${platform.node.opsUrl}/readyz`)).status).toBe(200);
});

test("a broker that hangs pauses readers, and creates are answered 503", async () => {
  await using platform = await openPlatform();
  const hasty = await platform.addNode({ brokerBudgetMs: 500 });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  await reader.nextFrame();
  await platform.server.kill("SIGSTOP");
  const writing = append(worker, ...deltas(3), completed());
  expect(await callOnce(`${hasty.url}/v1/generations`, { body: REQUEST })).toMatchObject({
    status: 503,
    json: { error: { code: "broker_unavailable", retryable: true } },
  });
  await platform.server.kill("SIGCONT");
  await writing;
  expect(await reader.ended).toBe("clean");
  expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "1-3", "1-4", "1-5"]);
});

test("a call that comes when the node knows of an outage is answered without the patience that others have", async () => {
  await using platform = await openPlatform();
  const { url, opsUrl } = await platform.addNode({ brokerBudgetMs: 600_000 });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  await platform.server.stop();
  await expect.poll(async () => (await call(`${opsUrl}/readyz`)).status).toBe(503);
  const answers = await Promise.all([
    callOnce(`${url}/v1/generations`, { body: REQUEST }),
    callOnce(`${url}/v1/generations`, { body: REQUEST, headers: { "idempotency-key": "order-7" } }),
    callOnce(`${url}${path}/cancel`, { method: "POST" }),
  ]);
  for (const { status, json, headers: said } of answers) {
    expect([status, json]).toMatchObject([503, { error: { code: "broker_unavailable", retryable: true } }]);
    expect(Number(said.get("retry-after"))).toBeGreaterThanOrEqual(1);
  }
});

test("without its broker a node answers in bounded time that it can't, and says that it may be tried again", async () => {
  await using platform = await openPlatform();
  const { url } = await platform.addNode({ brokerBudgetMs: 500 });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  await platform.server.stop();
  const answers = await Promise.all([
    callOnce(`${url}/v1/generations`, { body: REQUEST }),
    callOnce(`${url}${path}`),
    callOnce(`${url}${path}/events`),
    callOnce(`${url}${path}/cancel`, { method: "POST" }),
  ]);
  for (const { status, json, headers: said } of answers) {
    expect([status, json]).toMatchObject([503, { error: { code: "broker_unavailable", retryable: true } }]);
    expect(Number(said.get("retry-after"))).toBeGreaterThanOrEqual(1);
  }
});
