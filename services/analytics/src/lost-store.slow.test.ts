import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { createFileStore, createS3Store } from "@reprise/archive";
import { startS3Server } from "@reprise/archive/testing";
import { type Broker, createAnalyticsClient, openBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import {
  asSeq,
  encodeEvent,
  type GenerationRef,
  logSubject,
  parseTenantId,
  streamOf,
} from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { localFiles, openFetchedFiles } from "@reprise/facts/tables";
import {
  completed,
  createRef,
  createTempDir,
  delta,
  PATIENCE_MS,
  requested,
  started,
  startTestBroker,
} from "@reprise/testkit";
import { expect, test } from "vitest";
import { DuckDbRows } from "./facts/duckdb-rows.ts";
import { listRowFiles } from "./facts/listing/kept-listing.ts";
import { type AnalyticsOptions, startAnalytics } from "./service.ts";

const ACME = parseTenantId("acme");
const DAY_MS = 86_400_000;
const DAYS = {
  from: new Date(Date.now() - DAY_MS).toISOString(),
  to: new Date(Date.now() + DAY_MS).toISOString(),
};
const GONE = "the store of analytics takes no commits";
const BACK = "the store of analytics takes commits again";
const EARLIER = "the store of analytics is a copy of an earlier time: what it lacks is read again";

type Rows = Pick<AnalyticsOptions, "store" | "openRows">;

interface Line {
  readonly msg: string;
  readonly level: string;
  readonly because?: string;
}

/** A platform's broker, and analytics that can be started and stopped on it. */
async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
  const open = () => openBroker({ url: server.url, name: "test", ...topology });
  const broker = stack.use(await open());
  const log = createGenerationLog(broker);
  const client = createAnalyticsClient(broker.main);
  const folder = stack.use(await createTempDir("lost-store"));
  const dir = join(folder.path, "analytics");
  const files = createFileStore(dir);
  const rows: Rows = {
    store: files,
    openRows: async (listing) => new DuckDbRows({ store: listing ?? files, files: localFiles(dir) }),
  };
  const owned = stack.move();
  return {
    broker,
    folder: folder.path,
    dir,
    /** One generation, from its request to its end. */
    async generate(): Promise<GenerationRef> {
      const ref = createRef("acme");
      for (const [i, draft] of [requested(ref), started(), delta("a"), completed()].entries())
        await log.publish(logSubject(ref), encodeEvent(asSeq(i), draft), { timeoutMs: PATIENCE_MS });
      return ref;
    },
    /** Returns the number of generations in the usage. */
    async measured(): Promise<number> {
      const answer = JSON.parse(await client.ask("usage", { tenant: ACME, ...DAYS })) as {
        data: { generations: number }[];
      };
      return answer.data[0]?.generations ?? 0;
    },
    start: (given: Rows = rows) => start(open, given),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function start(open: () => Promise<Broker>, rows: Rows) {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await open());
  const lines: Line[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Line);
  const metrics = createMetrics({ processMetrics: false });
  const analytics = stack.use(
    await startAnalytics({
      broker,
      shards: 1,
      ...rows,
      keys: [],
      limits: { maxMessages: 100, maxAgeMs: 20, maxBytes: 1_000_000 },
      logger: createLogger({ service: "analytics", destination: { write } }),
      metrics,
    }),
  );
  const owned = stack.move();
  return {
    lines,

    linesOf: (msg: string) => lines.filter((line) => line.msg === msg),
    notReady: () => analytics.notReadyBecause(),
    async storeIsUp() {
      const text = await metrics.render();
      return /reprise_dependency_up\{[^}]*"analytics-store"[^}]*\} ([01])/.exec(text)?.[1] === "1";
    },
    stop: () => owned.disposeAsync(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;
type Running = Awaited<ReturnType<typeof start>>;

async function untilMeasured(world: World, generations: number): Promise<void> {
  await expect.poll(() => world.measured().catch(String)).toBe(generations);
}

async function untilGone(world: World, running: Running): Promise<void> {
  await expect.poll(() => running.linesOf(GONE)).toHaveLength(1);
  expect(await running.storeIsUp()).toBe(false);
  expect(running.notReady()).toEqual([expect.stringContaining("the store takes no commits")]);
  await expect(world.measured()).rejects.toMatchObject({ code: "archive_unavailable" });
}

async function untilBack(running: Running): Promise<void> {
  await expect.poll(() => running.linesOf(BACK)).toHaveLength(1);
  expect(await running.storeIsUp()).toBe(true);
  expect(running.notReady()).toEqual([]);
}

test("a folder that is moved away under a running process is missed, not made again, and whole when it is back", async () => {
  await using world = await openWorld();
  await using running = await world.start();
  for (let i = 0; i < 3; i++) await world.generate();
  await untilMeasured(world, 3);
  await rename(world.dir, `${world.dir}.away`);
  for (let i = 0; i < 2; i++) await world.generate();
  await untilGone(world, running);
  expect(await readdir(world.folder)).toEqual(["analytics.away"]);
  await rename(`${world.dir}.away`, world.dir);
  await untilBack(running);
  await untilMeasured(world, 5);
  expect(running.lines.filter(({ level }) => level !== "info").map(({ msg }) => msg)).toEqual([GONE]);
});

test("an emptied folder is recognised at the start, too, and so is another platform's", async () => {
  await using world = await openWorld();
  const first = await world.start();
  for (let i = 0; i < 3; i++) await world.generate();
  await untilMeasured(world, 3);
  await first.stop();
  await rename(world.dir, `${world.dir}.away`);
  await mkdir(world.dir);
  await using running = await world.start();
  await world.generate();
  await untilGone(world, running);
  expect(await readdir(world.dir)).toEqual([]);
  await using other = await openWorld();
  await using elsewhere = await other.start();
  await other.generate();
  await untilMeasured(other, 1);
  await rm(world.dir, { recursive: true });
  await cp(other.dir, world.dir, { recursive: true });
  await expect(world.measured()).rejects.toMatchObject({ code: "archive_unavailable" });
  await rm(world.dir, { recursive: true });
  await rename(`${world.dir}.away`, world.dir);
  await untilBack(running);
  await untilMeasured(world, 4);
  expect(elsewhere.linesOf(GONE)).toEqual([]);
});

test("a bucket's prefix that was emptied is recognised, while analytics runs and at its start", async () => {
  await using world = await openWorld();
  await using server = await startS3Server();
  const store = createS3Store({ ...server, url: `${server.url}/rows` });
  const rows: Rows = {
    store,
    openRows: async (listing) => {
      const dir = join(world.folder, "cache");
      return new DuckDbRows({
        store: listing ?? store,
        files: await openFetchedFiles({ store, dir, maxBytes: 100_000_000 }),
      });
    },
  };
  const running = await world.start(rows);
  for (let i = 0; i < 3; i++) await world.generate();
  await untilMeasured(world, 3);
  const kept = new Map(server.objects);
  server.objects.clear();
  await untilGone(world, running);
  await running.stop();
  await using again = await world.start(rows);
  await untilGone(world, again);
  expect([...server.objects.keys()]).toEqual([]);
  for (const [key, bytes] of kept) server.objects.set(key, bytes);
  await untilBack(again);
  await untilMeasured(world, 3);
});

test("a copy of an earlier time is filled again from the stream, also under a running process", async () => {
  await using world = await openWorld();
  await using running = await world.start();
  await world.generate();
  await untilMeasured(world, 1);
  await cp(world.dir, `${world.dir}.copy`, { recursive: true });
  for (let i = 0; i < 3; i++) {
    await world.generate();
    await untilMeasured(world, 2 + i);
  }
  await rename(world.dir, `${world.dir}.away`);
  await rename(`${world.dir}.copy`, world.dir);
  await world.generate();
  await untilMeasured(world, 5);
  expect(running.linesOf(EARLIER)).toHaveLength(1);
});

test("a copy of an earlier time whose rest has left the stream is refused until the store is back", async () => {
  await using world = await openWorld();
  const first = await world.start();
  await world.generate();
  await untilMeasured(world, 1);
  await cp(world.dir, `${world.dir}.copy`, { recursive: true });
  const later = await world.generate();
  await untilMeasured(world, 2);
  await first.stop();
  await rename(world.dir, `${world.dir}.away`);
  await rename(`${world.dir}.copy`, world.dir);
  await world.broker.main.request(
    `$JS.API.STREAM.PURGE.${streamOf(later.generation)}`,
    JSON.stringify({ seq: 8 }),
    { timeout: PATIENCE_MS },
  );
  await using running = await world.start();
  await expect.poll(() => running.linesOf(GONE)).toHaveLength(1);
  expect(running.linesOf(GONE)[0]?.because).toContain("a copy of an earlier time");
  await rename(world.dir, `${world.dir}.copy`);
  await rename(`${world.dir}.away`, world.dir);
  await untilBack(running);
  await untilMeasured(world, 2);
});

test("a row file that was deleted makes questions fail, with its name in the log alone", async () => {
  await using world = await openWorld();
  await using running = await world.start();
  await world.generate();
  await untilMeasured(world, 1);
  // Its row is in the file that was written last: how many came before, without a row, depends on the machine.
  const files = await listRowFiles(createFileStore(world.dir), "generations");
  const { key } = files.toSorted((a, b) => a.key.localeCompare(b.key)).at(-1)!;
  for (let i = 0; i < 2; i++) {
    await world.generate();
    await untilMeasured(world, 2 + i);
  }
  const file = join(world.dir, key);
  await rename(file, `${world.folder}/kept.parquet`);
  const refused = await world.measured().then(String, (error: unknown) => error);
  expect(refused).toMatchObject({
    code: "archive_corrupt",
    message: expect.not.stringContaining(".parquet"),
  });
  expect(running.lines.map(({ because }) => because)).toContainEqual(
    expect.stringContaining(`${basename(key)} is missing`),
  );
  await rename(`${world.folder}/kept.parquet`, file);
  await untilMeasured(world, 3);
});
