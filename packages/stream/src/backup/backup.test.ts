import { randomBytes } from "node:crypto";
import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generationsStream, JOBS_STREAM, TENANTS_STREAM } from "@reprise/protocol";
import { createTempDir, startTestBroker, type TcpProxy } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { openJobs } from "@reprise/jobs";
import { type Broker, connectBroker, getStreamInfo, readStreamInfo, ensureTopology } from "@reprise/broker";
import { newRef, openWorld, openWorldBehindProxy, SHARDS, writeLog } from "../testing/world.ts";
import { checkBackup } from "./backup-files.ts";
import { contentsOf, fill } from "./filled.fixture.ts";
import { restoreBackup } from "./restore-backup.ts";
import { takeImage } from "./stream-image.ts";
import { takeBackup } from "./take-backup.ts";

const HOUR_MS = 3_600_000;

async function openEmpty(stack: AsyncDisposableStack): Promise<Broker> {
  const server = stack.use(await startTestBroker());
  return stack.use(await connectBroker({ url: server.url, name: "empty" }));
}

describe("a backup that was restored", () => {
  test("has every message at its place and with its time, and the streams are those that were backed up", async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await openWorld());
    const { path: dir } = stack.use(await createTempDir("backup"));
    await fill(world);
    const { streams } = await takeBackup(world.broker, { dir });
    const empty = await openEmpty(stack);
    expect((await restoreBackup(empty, { dir })).queued).toBe(0);
    const restored = new Map<string, readonly string[]>();
    for (const { config } of streams) {
      const { name } = config;
      restored.set(name, await contentsOf(empty, name));
      expect([name, restored.get(name)]).toEqual([name, await contentsOf(world.broker, name)]);
      const [was, is] = await Promise.all(
        [world.broker, empty].map(({ reads }) => readStreamInfo(reads, name)),
      );
      expect(is).toMatchObject({ created: was!.created, lastStreamSeq: was!.lastStreamSeq });
    }
    // 22 events of one log and 6 of the other, in the shards of their random ids.
    expect(
      [...restored].filter(([name]) => name.startsWith("GENERATIONS_")).flatMap(([, all]) => all),
    ).toHaveLength(28);
    // And again: a stream's identity outlives any number of restores.
    const again = join(dir, "again");
    await takeBackup(empty, { dir: again });
    const third = await openEmpty(stack);
    await restoreBackup(third, { dir: again });
    const [was, is] = await Promise.all(
      [world.broker, third].map(({ reads }) => readStreamInfo(reads, TENANTS_STREAM)),
    );
    expect(is!.created).toBe(was!.created);
    // Set-up finds nothing to change.
    await ensureTopology(third.main, { shards: SHARDS, replicas: 1, retentionMs: HOUR_MS });
    expect((await readStreamInfo(third.reads, TENANTS_STREAM)).created).toBe(was!.created);
  });

  test("has a job for every generation that has not ended, also where the queue was copied without it", async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await openWorld());
    const { path: dir } = stack.use(await createTempDir("backup"));
    await fill(world);
    const jobless = newRef();
    await writeLog(world.log, jobless, 3);
    const { streams } = await takeBackup(world.broker, { dir });
    expect(streams.find(({ config }) => config.name === JOBS_STREAM)?.state.messages).toBe(1);
    const empty = await openEmpty(stack);
    expect((await restoreBackup(empty, { dir })).queued).toBe(1);
    const jobs = await Array.fromAsync(openJobs.readAllJobs(empty.bulk));
    expect(jobs).toHaveLength(2);
    expect(jobs.at(-1)).toMatchObject({ ref: jobless, model: "sim" });
  });
});

describe("a backup is refused", () => {
  test("where it is not as it was written, before anything is restored", async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await openWorld());
    const { path: root } = stack.use(await createTempDir("backup"));
    const empty = await openEmpty(stack);
    const damages: Record<string, (dir: string) => Promise<void>> = {
      "can't be read": (dir) => rm(join(dir, "manifest.json")),
      "is not JSON": (dir) => writeFile(join(dir, "manifest.json"), "{"),
      "has the format 2": (dir) => writeFile(join(dir, "manifest.json"), '{"format":2}'),
      "is missing": (dir) => rm(join(dir, "JOBS.snapshot")),
      "bytes, and had": (dir) => appendFile(join(dir, "JOBS.snapshot"), "x"),
      "is not as it was written": async (dir) => {
        const path = join(dir, "JOBS.snapshot");
        const bytes = await readFile(path);
        bytes[bytes.length - 1]! ^= 1;
        await writeFile(path, bytes);
      },
    };
    for (const [i, [message, damage]] of Object.entries(damages).entries()) {
      const dir = join(root, String(i));
      await takeBackup(world.broker, { dir });
      expect((await checkBackup(dir)).shards).toBe(SHARDS);
      await damage(dir);
      await expect(restoreBackup(empty, { dir })).rejects.toMatchObject({
        code: "config_invalid",
        message: expect.stringContaining(message),
      });
    }
    await expect(getStreamInfo(empty.reads, JOBS_STREAM)).rejects.toThrow("stream not found");
  });

  test("where one of its streams is there, and nothing is replaced", async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await openWorld());
    const { path: dir } = stack.use(await createTempDir("backup"));
    await takeBackup(world.broker, { dir });
    await fill(world);
    const before = await contentsOf(world.broker, JOBS_STREAM);
    await expect(restoreBackup(world.broker, { dir })).rejects.toMatchObject({
      code: "broker_incompatible",
      message: expect.stringContaining("GENERATIONS_0"),
    });
    expect(await contentsOf(world.broker, JOBS_STREAM)).toEqual(before);
  });

  test("where its folder has something in it", async () => {
    await using world = await openWorld();
    await using dir = await createTempDir("backup");
    await writeFile(join(dir.path, "note"), "");
    await expect(takeBackup(world.broker, { dir: dir.path })).rejects.toThrow("is not empty");
  });
});

test("a copy whose connection is lost in the middle fails, also where the connection is back at once", async () => {
  await using world = await openWorldBehindProxy();
  const stream = generationsStream(0);
  for (let i = 0; i < 8; i++) await world.log.publish(`gen.0.acme.filler_${i}`, randomBytes(200_000), {});
  let parts = 0;
  const write = async () => {
    if (++parts === 1) world.proxy.cutNow();
  };
  await expect(takeImage(world.broker.bulk, stream, { withConsumers: false, write })).rejects.toMatchObject({
    code: "broker_unavailable",
  });
  expect(parts).toBeLessThan(13);
});

/** A connection that is made again at once would serve the rest of the backup. */
async function cutForGood(proxy: TcpProxy): Promise<void> {
  proxy.cutNow();
  for (;;) (await proxy.nextConnection()).cut();
}

test("a backup whose connection is lost fails, and is none", async () => {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openWorldBehindProxy());
  const { path: dir } = stack.use(await createTempDir("backup"));
  await fill(world);
  let copied = 0;
  const taken = takeBackup(world.broker, {
    dir,
    onStream: () => {
      if (++copied === 3) void cutForGood(world.proxy);
    },
  });
  await expect(taken).rejects.toMatchObject({ code: "broker_unavailable" });
  await expect(checkBackup(dir)).rejects.toThrow("is no backup, or one that was interrupted");
});
