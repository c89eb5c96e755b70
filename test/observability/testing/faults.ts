import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { generationsStream, opsSubject, VERDICTS_STREAM } from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import type { ObservedPlatform } from "./observed-platform.ts";

/** Has more generations fail than the alert needs to judge by, a few at a time. */
export async function failGenerations({ url, apiKey }: ObservedPlatform): Promise<void> {
  const { generations } = createClient({ url, apiKey });
  const request = { model: "sim", input: "Fail.", options: { tokens: 20, fail_after_tokens: 1 } };
  for (let batch = 0; batch < 15; batch++)
    await Promise.all(Array.from({ length: 10 }, () => generations.run(request).done()));
}

/** Has a generation complete, so that there is something to archive. */
export async function completeGeneration({ url, apiKey }: ObservedPlatform): Promise<void> {
  const { generations } = createClient({ url, apiKey });
  await generations.run({ model: "sim", input: "Say it.", options: { tokens: 20 } }).done();
}

/** Puts a file in place of the archive's folder, so that every commit fails. @returns puts the folder back */
export async function breakArchive({ cluster }: ObservedPlatform): Promise<() => Promise<void>> {
  const folder = join(cluster.dataDir, "audit");
  await rename(folder, `${folder}.away`);
  await writeFile(folder, "");
  return async () => {
    await rename(folder, `${folder}.file`);
    await rename(`${folder}.away`, folder);
  };
}

/** Takes all events from the logs, as their expiry does. */
export async function expireLogs({ cluster }: ObservedPlatform): Promise<void> {
  for (const shard of [0, 1])
    await cluster.broker.main.request(`$JS.API.STREAM.PURGE.${generationsStream(shard)}`);
}

/** Publishes an erasure record that no part of the platform writes. */
export async function forgeMessage({ cluster }: ObservedPlatform): Promise<void> {
  const { tenant, generation } = createRef();
  cluster.broker.main.publish(opsSubject("erased", tenant, generation), "{}");
  await cluster.broker.main.flush();
}

/** SIGSTOP. @returns SIGCONT */
export async function pauseModeration({ moderation }: ObservedPlatform): Promise<() => void> {
  await moderation.pause();
  return () => moderation.resume();
}

/** Deletes the stream in which moderation stores its verdicts, and has a generation judged. */
export async function loseVerdicts({ cluster, url, apiKey }: ObservedPlatform): Promise<void> {
  await cluster.broker.main.request(`$JS.API.STREAM.DELETE.${VERDICTS_STREAM}`);
  const { generations } = createClient({ url, apiKey });
  const moderation = { rules: ["cards" as const], mode: "retract" as const };
  await generations.create({
    model: "sim",
    input: "Say it.",
    options: { tokens: 20 },
    policy: { moderation },
  });
}

/** SIGSTOP to the broker. @returns SIGCONT */
export async function pauseBroker({ cluster }: ObservedPlatform): Promise<() => Promise<void>> {
  await cluster.server.kill("SIGSTOP");
  return () => cluster.server.kill("SIGCONT");
}
