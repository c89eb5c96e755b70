import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { startToldModel } from "./testing/told-model.ts";

const RELOADED = "configuration read again";
const toModelsFile = (...names: string[]) =>
  JSON.stringify({ models: Object.fromEntries(names.map((name) => [name, { engine: "sim" }])) });

test("a models file is read again on SIGHUP: models come and go, and what runs goes on to its end", async () => {
  await using cluster = await startCluster();
  await using dir = await createTempDir("models");
  const file = join(dir.path, "models.json");
  await writeFile(file, toModelsFile("first"));
  const env = { REPRISE_MODELS_FILE: file };
  const [delivery, worker] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const { generations } = createClient({ url: delivery.url, apiKey: cluster.keys["acme"]! });
  const run = (model: string, tokens_per_second = 0) =>
    generations.run({ model, input: "Go on.", options: { tokens: 150, tokens_per_second } });

  const running = run("first", 100);
  const events = running[Symbol.asyncIterator]();
  await events.next();
  await expect(run("second").done()).rejects.toMatchObject({ code: "model_not_found" });
  await writeFile(file, toModelsFile("second"));
  for (const service of [worker, delivery]) {
    service.kill("SIGHUP");
    await service.logged(RELOADED);
  }
  expect(await run("second").done()).toMatchObject({ status: "completed" });
  await expect(run("first").done()).rejects.toMatchObject({ code: "model_not_found" });
  while (!(await events.next()).done);
  expect(running).toMatchObject({ status: "completed", usage: { output_tokens: 150 } });
  const log = await cluster.readLog("acme", running.id!);
  expect(log.filter((payload) => payload.includes("generation.started"))).toHaveLength(1);
});

test("the servers of a model are others on SIGHUP: one that is dead is ejected, and what runs ends where it began", async () => {
  await using cluster = await startCluster();
  await using dir = await createTempDir("replicas");
  await using before = await startToldModel("m");
  await using after = await startToldModel("m");
  const file = join(dir.path, "models.json");
  // Nothing listens at port 1.
  const dead = "http://127.0.0.1:1/v1";
  const health = { interval_ms: 100, eject_after: 1 };
  const toFile = (...base_urls: string[]) =>
    JSON.stringify({ models: { m: { engine: "openai", base_urls, health, upstream_model: "m" } } });
  await writeFile(file, toFile(before.baseUrl, dead));
  const env = { REPRISE_MODELS_FILE: file };
  const [delivery, worker] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  await worker.logged("a server of a model is ejected: it gets no requests for now");
  const { generations } = createClient({ url: delivery.url, apiKey: cluster.keys["acme"]! });

  const running = generations.run({ model: "m", input: "Go on." });
  const events = running[Symbol.asyncIterator]();
  await events.next();
  await before.say(["before"]);
  await writeFile(file, toFile(dead, after.baseUrl));
  worker.kill("SIGHUP");
  await worker.logged(RELOADED);
  const next = generations.run({ model: "m", input: "Go on." }).done();
  await after.say(["after"]);
  await after.finish();
  expect(await next).toMatchObject({ status: "completed", text: "after" });
  await before.finish();
  while (!(await events.next()).done);
  expect(running).toMatchObject({ status: "completed", text: "before" });
});
