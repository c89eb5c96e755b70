import { encodeAddCheckpoint } from "@reprise/archive";
import { createHistory, type History } from "@reprise/archive/testing";
import { createClient } from "@reprise/client";
import {
  encodeCursor,
  FIRST_SEQ,
  generationsStream,
  logSubject,
  opsSubject,
  parseGenerationId,
  parseTenantId,
  streamOf,
  VERDICTS_STREAM,
} from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import { expect } from "vitest";
import { exceedBudget } from "./exceed-budget.ts";
import type { ObservedPlatform } from "./observed-platform.ts";

/** Has more generations fail than the alert needs to judge by, a few at a time. */
export async function failGenerations({ url, apiKey }: ObservedPlatform): Promise<void> {
  const { generations } = createClient({ url, apiKey });
  const request = { model: "sim", input: "Fail.", options: { tokens: 20, fail_after_tokens: 1 } };
  for (let batch = 0; batch < 15; batch++)
    await Promise.all(Array.from({ length: 10 }, () => generations.run(request).done()));
}

/** Has more generations begin to speak late than the alerts on the first token need to judge by. */
export async function delayFirstTokens({ url, apiKey }: ObservedPlatform): Promise<void> {
  const { generations } = createClient({ url, apiKey });
  const request = { model: "sim", input: "Wait.", options: { tokens: 1, first_token_ms: 4_000 } };
  for (let batch = 0; batch < 2; batch++)
    await Promise.all(Array.from({ length: 60 }, () => generations.run(request).done()));
}

/** A generation whose log has lost its beginning, and the cursor of a reader that had that. */
export interface LostBeginning {
  readonly id: string;
  readonly cursor: string;
}

/** Takes a generation's beginning from its log, as its age does. */
export async function loseBeginning({ cluster, apiKey }: ObservedPlatform): Promise<LostBeginning> {
  // Created on another node: the memory of the one that readers come back to has none of it.
  const other = await cluster.startDelivery();
  const { generations } = createClient({ url: other.url, apiKey });
  const { id } = await generations.create({
    model: "sim",
    input: "Say it.",
    options: { tokens: 100_000, tokens_per_second: 20 },
  });
  const events = await cluster.untilLog("acme", id, ({ length }) => length > 5);
  const ref = { tenant: parseTenantId("acme"), generation: parseGenerationId(id) };
  const purged = await cluster.broker.main.request(
    `$JS.API.STREAM.PURGE.${streamOf(ref.generation)}`,
    JSON.stringify({ filter: logSubject(ref), keep: 1 }),
  );
  expect(purged.json()).toMatchObject({ success: true });
  const started = events.find(({ type }) => type === "generation.started");
  const nonce = started?.type === "generation.started" ? started.nonce : undefined;
  return { id, cursor: encodeCursor({ attempt: 1, nonce, seq: FIRST_SEQ }) };
}

/** Has so many readers come back to what is gone. */
export async function refuseResumes(
  { url, apiKey }: ObservedPlatform,
  { id, cursor }: LostBeginning,
  readers: number,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    accept: "text/event-stream",
    "last-event-id": cursor,
  };
  for (let reader = 0; reader < readers; reader++) {
    const response = await fetch(`${url}/v1/generations/${id}/events`, { headers });
    expect(response.status).toBe(410);
    await response.text();
  }
}

/** Has more creates refused than the alert needs to judge by. */
export async function exhaustBudget(platform: ObservedPlatform): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt++) await exceedBudget(platform);
}

/** Has a generation complete, so that there is something to archive. */
export async function completeGeneration({ url, apiKey }: ObservedPlatform): Promise<void> {
  const { generations } = createClient({ url, apiKey });
  await generations.run({ model: "sim", input: "Say it.", options: { tokens: 20 } }).done();
}

/** Puts a file in place of the archive's folder, so that every commit fails. @returns puts the folder back */
export async function breakArchive({ archive }: ObservedPlatform): Promise<() => Promise<void>> {
  await archive.lead("file");
  return () => archive.lead("folder");
}

/** Takes all events from the logs, as their expiry does. */
export async function expireLogs({ cluster }: ObservedPlatform): Promise<void> {
  for (const shard of [0, 1])
    await cluster.broker.main.request(`$JS.API.STREAM.PURGE.${generationsStream(shard)}`);
}

/** The least age at which all that is gone from a log may have expired, as consumers see it. */
const SHORT_RETENTION_S = 60;

/** Puts a file in place of analytics' folder, and has the broker keep logs for a minute. @returns puts the folder back */
export async function breakRows({ cluster, rows }: ObservedPlatform): Promise<() => Promise<void>> {
  await rows.lead("file");
  for (const shard of [0, 1]) {
    const stream = generationsStream(shard);
    const info = await cluster.broker.main.request(`$JS.API.STREAM.INFO.${stream}`);
    const { config } = info.json<{ config: object }>();
    const shortened = JSON.stringify({ ...config, max_age: SHORT_RETENTION_S * 1e9 });
    const updated = await cluster.broker.main.request(`$JS.API.STREAM.UPDATE.${stream}`, shortened);
    expect(updated.json()).not.toHaveProperty("error");
  }
  return () => rows.lead("folder");
}

/** Publishes an erasure record that no part of the platform writes. */
export async function forgeMessage({ cluster }: ObservedPlatform): Promise<void> {
  const { tenant, generation } = createRef();
  cluster.broker.main.publish(opsSubject("erased", tenant, generation), "{}");
  await cluster.broker.main.flush();
}

/** Has a log show its witness two histories: it goes on otherwise than the checkpoint that was cosigned. */
export async function forkHistory({ witnessUrl }: ObservedPlatform): Promise<void> {
  const post = async (history: History, oldSize: number, size: number) => {
    const proof = await history.proof(oldSize, size);
    const body = encodeAddCheckpoint({ oldSize, proof, note: history.note(size) });
    return (await fetch(`${witnessUrl}/add-checkpoint`, { method: "POST", body })).status;
  };
  expect(await post(createHistory("leaf", 10), 0, 5)).toBe(200);
  expect(await post(createHistory("fork", 10), 5, 9)).toBe(422);
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
