import { openBroker, pullJobs } from "@reprise/log";
import { expect, test } from "vitest";
import { authorization, call, createGeneration, KEYS, openPlatform } from "../testing/platform.ts";

test("jobs of a worker that has died wait again once it is not heard, though no other worker is there to take them", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  for (let i = 0; i < 3; i++) await createGeneration(platform);
  const ask = async () => {
    const { json } = await call(`${platform.node.url}/v1/ops/scale`, {
      headers: authorization(KEYS.operator),
    });
    return json as { models: readonly unknown[] };
  };
  const worker = await openBroker({
    url: platform.server.url,
    name: "worker",
    shards: 2,
    replicas: 1,
    retentionMs: 3_600_000,
    onError: () => {},
  });
  const puller = await pullJobs({
    connection: worker.bulk,
    model: "sim",
    slots: 2,
    ackWaitMs: 60_000,
    onError: () => {},
    run: () => new Promise(() => {}),
  });
  await expect
    .poll(ask, { interval: 500 })
    .toMatchObject({ models: [{ queued: 1, workers: 1, slots: 2, running: 2 }] });
  // As it is when its machine is gone: no last word.
  await worker.bulk.close();
  puller.stop();
  await worker.close();
  await expect
    .poll(ask, { interval: 500 })
    .toMatchObject({ models: [{ queued: 3, workers: 0, slots: 0, running: 0 }] });
});
