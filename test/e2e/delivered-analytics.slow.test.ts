import { createHash } from "node:crypto";
import { isTerminal } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const OPERATOR_KEY = "ro_0123456789abcdef01234567";
const operatorHash = createHash("sha256").update(OPERATOR_KEY).digest("hex");

test("how readers came to a generation's events is in its row, though analytics is killed", async () => {
  await using cluster = await startCluster({ tenants: ["acme"] });
  const [delivery, analytics] = await Promise.all([
    cluster.startDelivery({ REPRISE_OPERATOR_KEY_SHA256: operatorHash }),
    cluster.startAnalytics({}),
  ]);
  const headers = { authorization: `Bearer ${cluster.keys["acme"]}` };
  const json = { ...headers, "content-type": "application/json" };
  const ask = async <T>(path: string): Promise<T | undefined> => {
    const response = await fetch(delivery.url + path, { headers });
    const body = (await response.json()) as T;
    // Analytics may be gone for a moment.
    if (response.status === 503) return undefined;
    expect([response.status, body]).toEqual([200, body]);
    return body;
  };
  const body = { model: "sim", input: "Go.", options: { tokens: 200, tokens_per_second: 20 } };
  const created = await fetch(`${delivery.url}/v1/generations`, {
    method: "POST",
    headers: json,
    body: JSON.stringify(body),
  });
  const { id } = (await created.json()) as { id: string };
  const events = `${delivery.url}/v1/generations/${id}/events`;
  await using first = await openSseReader(events, { headers });
  // Now: the reader is there before the first output is.
  await cluster.startWorker();
  while (first.frames.length < 3) await first.nextFrame();
  first.cut();
  analytics.kill("SIGKILL");
  await using second = await openSseReader(events, { headers, lastEventId: first.lastEventId });
  expect(await second.ended).toBe("clean");
  await cluster.untilLog("acme", id, (log) => log.some(({ type }) => isTerminal(type)));
  const timings = await fetch(`${delivery.url}/v1/generations/${id}/timings`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ round_trip_ms: 12, reconnects: 1 }),
  });
  expect(timings.status).toBe(204);
  await cluster.startAnalytics({});

  const deliveryOf = async () =>
    (await ask<{ data: { delivery: object | null }[] }>("/v1/analytics/generations"))?.data[0]?.delivery;
  await expect.poll(deliveryOf).toMatchObject({
    read: "streamed",
    streams: 2,
    resumes: 1,
    disconnects: 1,
    finished: 1,
    client: { round_trip_ms: 12, reconnects: 1 },
  });
  const all = await ask<{ data: object[] }>("/v1/analytics/summary?by=read");
  expect(all?.data).toMatchObject([
    {
      key: { read: "streamed" },
      delivery: { streamed: 1, unread: 0, resumed: 1, abandoned: 0, disconnects: 1 },
    },
  ]);
  const budget = await ask<{ terms: { term: string; measured: number }[] }>("/v1/analytics/budget");
  const measured = budget?.terms.filter((term) => term.measured === 1).map(({ term }) => term);
  expect(measured).toEqual(["queue", "prefill", "decode", "broker", "delivery", "client"]);
});
