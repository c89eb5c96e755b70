import { readFile } from "node:fs/promises";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection, ServerInfo } from "@nats-io/transport-node";
import {
  generationsStream,
  JOBS_STREAM,
  KEY_USE_STREAM,
  TENANTS_STREAM,
  USAGE_STREAM,
} from "@reprise/protocol";
import { PATIENCE_MS, startTestBroker } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { connectBroker } from "../nats/connection.ts";
import { readBack, newRef, openWorld, SHARDS, writeLog } from "@reprise/stream/testing";
import { ensureTopology } from "./topology.ts";

const HOUR_MS = 3_600_000;
const OPTIONS = { shards: SHARDS, replicas: 1, retentionMs: HOUR_MS };

/** A connection to a server that introduces itself like this, and that must not be asked for anything. */
function connectionTo(info: Partial<ServerInfo> | undefined): NatsConnection {
  return { info } as NatsConnection;
}

/** Retention of each stream, RULES three times that of the others; without those of tenants and of usage, which have their own. */
async function hoursOf(manager: JetStreamManager): Promise<number[]> {
  const streams = await manager.streams.list().next();
  const others = [TENANTS_STREAM, KEY_USE_STREAM, USAGE_STREAM];
  const ofLogs = streams.filter(({ config: { name } }) => !others.includes(name));
  return ofLogs.map(({ config }) => config.max_age / 1_000_000 / HOUR_MS).toSorted((a, b) => a - b);
}

async function openBroker() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const { main } = stack.use(await connectBroker({ url: server.url, name: "test" }));
  const owned = stack.move();
  return { main, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe("the streams", () => {
  test("are made, with what the log relies on", async () => {
    await using broker = await openBroker();
    await ensureTopology(broker.main, OPTIONS);
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    const names = (await manager.streams.list().next()).map(({ config }) => config.name);
    expect(names.toSorted()).toEqual([
      "BLOBS",
      "BLOB_CHUNKS",
      "CHECKPOINTS",
      "COMMITS",
      "CONVERSATIONS",
      "DURABLE_STREAMS",
      "GENERATIONS_0",
      "GENERATIONS_1",
      "INPUTS_0",
      "INPUTS_1",
      "JOBS",
      "KEY_USE",
      "KV_TENANTS",
      "KV_TOKEN_KEYS",
      "LEASES",
      "OPS",
      "READERS",
      "REVIEWS",
      "RULES",
      "THREADS",
      "USAGE",
      "VERDICTS",
    ]);
    const { config } = await manager.streams.info("GENERATIONS_1");
    expect(config).toMatchObject({
      subjects: ["gen.1.>"],
      retention: "limits",
      storage: "file",
      allow_direct: true,
      deny_delete: true,
      republish: { src: "gen.1.>", dest: "live.gen.1.>" },
      max_age: HOUR_MS * 1_000_000,
    });
  });

  test("stay as they are, with all they hold, when they are made again", async () => {
    await using world = await openWorld();
    const ref = newRef();
    await writeLog(world.log, ref, 5);
    const manager = await jetstreamManager(world.broker.main, { timeout: PATIENCE_MS });
    const before = (await manager.streams.info(generationsStream(0))).config;
    await ensureTopology(world.broker.main, OPTIONS);
    expect((await manager.streams.info(generationsStream(0))).config).toEqual(before);
    expect(await readBack(world.log, ref)).toHaveLength(6);
  });

  test("can be made by many processes at once", async () => {
    await using broker = await openBroker();
    await Promise.all(
      Array.from({ length: 10 }, () => ensureTopology(broker.main, { ...OPTIONS, shards: 4 })),
    );
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    expect(await manager.streams.list().next()).toHaveLength(26);
  });

  test("get a new retention time, and more shards", async () => {
    await using broker = await openBroker();
    await ensureTopology(broker.main, OPTIONS);
    await ensureTopology(broker.main, { shards: 3, replicas: 1, retentionMs: 2 * HOUR_MS });
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    expect(await hoursOf(manager)).toEqual([0, 0, 0, 0, ...Array(16).fill(2), 6]);
  });

  test("keep the retention time that they have when a process is started with a shorter one, which is refused", async () => {
    await using broker = await openBroker();
    await ensureTopology(broker.main, { ...OPTIONS, retentionMs: 2 * HOUR_MS });
    const refused = await ensureTopology(broker.main, OPTIONS).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "broker_incompatible", param: "REPRISE_RETENTION_HOURS" });
    expect(refused).toHaveProperty("message", expect.stringMatching(/ 2 hours.* 1 hour.*/));
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    expect(await hoursOf(manager)).toEqual([0, 0, 0, 0, ...Array(14).fill(2), 6]);
  });

  test("that keep everything for ever are not given an end", async () => {
    await using broker = await openBroker();
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    await manager.streams.add({ name: JOBS_STREAM, subjects: ["job.>"], retention: "workqueue", max_age: 0 });
    await expect(ensureTopology(broker.main, OPTIONS)).rejects.toMatchObject({
      code: "broker_incompatible",
      message: expect.stringMatching(/JOBS.*for ever.*1 hour/),
    });
  });

  test("allow more models than a server's default number of consumers", async () => {
    await using broker = await openBroker();
    await ensureTopology(broker.main, OPTIONS);
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    expect((await manager.streams.info(JOBS_STREAM)).config.max_consumers).toBe(10_000);
  });

  test("that exist in a form that can't be changed are reported, with their name", async () => {
    await using broker = await openBroker();
    const manager = await jetstreamManager(broker.main, { timeout: PATIENCE_MS });
    await manager.streams.add({ name: JOBS_STREAM, subjects: ["job.>"], retention: "limits" });
    await expect(ensureTopology(broker.main, OPTIONS)).rejects.toMatchObject({
      code: "broker_incompatible",
      message: expect.stringContaining("JOBS"),
    });
  });
});

describe("a server is refused", () => {
  const good = { version: "2.15.1", jetstream: true, max_payload: 8 * 1_024 * 1_024 };

  test.each([
    ["that is too old", { ...good, version: "2.11.9" }, "2.11.9"],
    ["of an earlier generation", { ...good, version: "1.4.1" }, "1.4.1"],
    ["without JetStream", { ...good, jetstream: false }, "JetStream"],
    ["whose largest payload is too small", { ...good, max_payload: 1_048_576 }, "1048576"],
  ])("%s", async (_, info, told) => {
    await expect(ensureTopology(connectionTo(info), OPTIONS)).rejects.toMatchObject({
      code: "broker_incompatible",
      message: expect.stringContaining(told),
    });
  });

  test("below what the README names as the minimum", async () => {
    const readme = await readFile(new URL("../../../../README.md", import.meta.url), "utf8");
    const [, version, bytes] =
      /`nats-server` ([\d.]+) with JetStream and a `max_payload` of ([\d,]+) bytes/.exec(readme)!;
    const maxPayload = Number(bytes!.replaceAll(",", ""));
    const refusalOf = (info: Partial<ServerInfo>) => ensureTopology(connectionTo(info), OPTIONS);
    await expect(refusalOf({ ...good, max_payload: maxPayload - 1 })).rejects.toThrow(
      `at least ${maxPayload} are`,
    );
    await expect(refusalOf({ ...good, version: "2.0.0" })).rejects.toThrow(`${version} or later is needed`);
  });

  test("that has not introduced itself, for now", async () => {
    await expect(ensureTopology(connectionTo(undefined), OPTIONS)).rejects.toMatchObject({
      code: "broker_unavailable",
    });
  });

  test("with a real limit that is too small", async () => {
    await using server = await startTestBroker({ maxPayloadBytes: 1_048_576 });
    await using broker = await connectBroker({ url: server.url, name: "test" });
    await expect(ensureTopology(broker.main, OPTIONS)).rejects.toMatchObject({ code: "broker_incompatible" });
  });
});
