import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@reprise/client";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const CLIENTS = 20;
/** Longer than a stall must be to count, and than the bucket that is asked for. */
const FROZEN_MS = 2_500;

test("every client that waits for the first token of a frozen delivery node is measured, and with its wait", async () => {
  await using cluster = await startCluster();
  const delivery = await cluster.startDelivery();
  await cluster.startWorker();
  const { generations } = createClient({ url: delivery.url, apiKey: cluster.keys["acme"] ?? "" });
  const create = () => generations.run({ model: "sim", input: "x", options: { tokens: 2 } }).done();
  await create();
  await delivery.pause();
  const waiting = Array.from({ length: CLIENTS }, create);
  await delay(FROZEN_MS);
  delivery.resume();
  await Promise.all(waiting);
  const metrics = await (await fetch(`${delivery.opsUrl}/metrics`)).text();
  const count = (name: string, labels: string) =>
    Number(new RegExp(`^${name}\\{${labels}\\} (\\d+)$`, "m").exec(metrics)?.[1]);
  expect(count("reprise_first_event_seconds_count", 'call="create"')).toBe(CLIENTS + 1);
  expect(count("reprise_first_event_seconds_bucket", 'le="2",call="create"')).toBe(1);
});
