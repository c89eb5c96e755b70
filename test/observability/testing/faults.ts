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
import { createRef, PATIENCE_MS } from "@reprise/testkit";
import { expect } from "vitest";
import { exceedBudget } from "./drive.ts";
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

/** Of requests to the broker: beside all faults at once it may take its time. */
const REQUEST = { timeout: PATIENCE_MS };

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
    REQUEST,
  );
  expect(purged.json()).toMatchObject({ success: true });
  const started = events.find(({ type }) => type === "generation.started");
  const nonce = started?.type === "generation.started" ? started.nonce : undefined;
  return { id, cursor: encodeCursor({ attempt: 1, nonce, seq: FIRST_SEQ }) };
}

/** Lets readers resume a generation that is gone. */
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
  // Beside the other faults Redis may be too slow for a claim now and then: that create is refused as `budget_unavailable`.
  for (let refused = 0; refused < 150;)
    refused += Number((await exceedBudget(platform)) === "budget_exceeded");
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
    await cluster.broker.main.request(`$JS.API.STREAM.PURGE.${generationsStream(shard)}`, undefined, REQUEST);
}

/** The least age at which all that is gone from a log may have expired, as consumers see it. */
const SHORT_RETENTION_S = 60;

/** Puts a file in place of analytics' folder, and has the broker keep logs for a minute. @returns puts the folder back */
export async function breakRows({ cluster, rows }: ObservedPlatform): Promise<() => Promise<void>> {
  await rows.lead("file");
  for (const shard of [0, 1]) {
    const stream = generationsStream(shard);
    const info = await cluster.broker.main.request(`$JS.API.STREAM.INFO.${stream}`, undefined, REQUEST);
    const { config } = info.json<{ config: object }>();
    const shortened = JSON.stringify({ ...config, max_age: SHORT_RETENTION_S * 1e9 });
    const updated = await cluster.broker.main.request(`$JS.API.STREAM.UPDATE.${stream}`, shortened, REQUEST);
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

/** Has a log show its witness two histories: it continues otherwise than the cosigned checkpoint. */
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
  await cluster.broker.main.request(`$JS.API.STREAM.DELETE.${VERDICTS_STREAM}`, undefined, REQUEST);
  const { generations } = createClient({ url, apiKey });
  const moderation = { rules: ["cards" as const], mode: "retract" as const };
  await generations.create({
    model: "sim",
    input: "Say it.",
    options: { tokens: 20 },
    policy: { moderation },
  });
}

/** More than a delivery node keeps last marks of. */
const LEAVING_READERS = 10_050;
const LEAVING_AT_ONCE = 32;

/** A generation that runs, with a reader: a node keeps it in memory, and reads of it need no broker. @returns its id */
export async function holdGeneration({ url, apiKey }: ObservedPlatform): Promise<string> {
  const { generations } = createClient({ url, apiKey });
  const stream = generations.run({
    model: "sim",
    input: "Say it.",
    options: { tokens: 100_000, tokens_per_second: 1 },
  });
  await stream[Symbol.asyncIterator]().next();
  return stream.id ?? "";
}

/** Has more readers come and go than a node keeps last marks of. To be called while the broker hangs. */
export async function leaveUnrecorded({ url, apiKey }: ObservedPlatform, id: string): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json" };
  let left = LEAVING_READERS;
  const leave = async () => {
    while (left-- > 0) {
      const page = await fetch(`${url}/v1/generations/${id}/events?limit=1`, { headers });
      expect(page.status).toBe(200);
      await page.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: LEAVING_AT_ONCE }, leave));
}

/** SIGSTOP to the broker. @returns SIGCONT */
export async function pauseBroker({ cluster }: ObservedPlatform): Promise<() => Promise<void>> {
  await cluster.server.kill("SIGSTOP");
  return () => cluster.server.kill("SIGCONT");
}
