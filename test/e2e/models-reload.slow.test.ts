import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const RELOADED = "configuration read again";
const toModelsFile = (...names: string[]) =>
  JSON.stringify({ models: Object.fromEntries(names.map((name) => [name, { engine: "sim" }])) });

test("a models file is read again on SIGHUP: models come and go, and running generations finish", async () => {
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
