import { type BlobStore, createFileStore, createS3Store, probeStore } from "@reprise/archive";
import {
  createFaultyStore,
  createMemoryStore,
  type FaultPlan,
  randomFaults,
  type S3Fault,
  type S3ServerOptions,
  startS3Server,
} from "@reprise/archive/testing";
import { createSeededRandom, createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createBrokerFencedStore } from "@reprise/facts/lane";
import { type FaultyWorld, openFaultyWorld, type RunningArchiver } from "./testing/worlds/faulty-world.ts";

const SEED = Number(process.env["AUDIT_FAULT_SEED"] ?? 22);
const S3_FAULTS: readonly S3Fault[] = [
  500,
  503,
  409,
  "cut",
  "hang",
  "cut-body",
  "after-cut",
  "after-hang",
  "after-503",
];

/** Expects only errors that are retried, and at least one. */
function expectUnavailable({ errors }: RunningArchiver): void {
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) expect(error).toMatchObject({ code: "archive_unavailable" });
}

test(`a store that fails at random, before and after it has done what it was asked: seed ${SEED}`, async () => {
  await using world = await openFaultyWorld();
  await using dir = await createTempDir("storage-faults");
  const random = createSeededRandom(SEED);
  const faults = randomFaults(() => random.next(), 0.2);
  const archive = createFileStore(`${dir.path}/archive`);
  const keys = createFileStore(`${dir.path}/keys`);
  let isFaulty = false;
  const plan: FaultPlan = (call) => (isFaulty ? faults(call) : undefined);
  const stores = { archive: createFaultyStore(archive, plan), keys: createFaultyStore(keys, plan) };
  // Each takes over where the one before has come to.
  for (let turn = 0; turn < 3; turn++) {
    const archiver = await world.startArchiver(stores);
    isFaulty = true;
    while (archiver.errors.length === 0) await world.write(25);
    await archiver.stop();
    isFaulty = false;
    expectUnavailable(archiver);
  }
  const last = await world.startArchiver(stores);
  await world.write(1);
  await world.expectExactlyOnce({ archive, keys });
  await last.stop();
});

test("a store that is away for a while, and slow when it comes back, holds archiving up and loses nothing", async () => {
  await using world = await openFaultyWorld();
  const stores = { archive: createMemoryStore(), keys: createMemoryStore() };
  let state: "well" | "away" | "slow" = "well";
  let refused = 0;
  const plan: FaultPlan = () => {
    if (state === "away") refused++;
    return state === "well" ? undefined : state === "away" ? "before" : 20;
  };
  const archive = createFaultyStore(stores.archive, plan);
  const archiver = await world.startArchiver({ archive, keys: createFaultyStore(stores.keys, plan) });
  await world.write(20);
  state = "away";
  await world.write(20);
  await expect.poll(() => refused).toBeGreaterThan(4);
  state = "slow";
  await world.write(5);
  await world.expectExactlyOnce(stores);
  await archiver.stop();
  expectUnavailable(archiver);
});

/** A bucket in which every sixth request goes wrong, each time in another way, once `begin` was called. */
async function openBadBucket(options: S3ServerOptions = {}) {
  let begunAt: number | undefined;
  let failed = 0;
  const server = await startS3Server({
    ...options,
    fault: ({ n }) => {
      if (begunAt === undefined || (n - begunAt) % 6 !== 5) return undefined;
      return S3_FAULTS[failed++ % S3_FAULTS.length];
    },
  });
  // What hangs is over soon; where nothing is wrong a busy machine takes its time.
  const [hasty, patient] = [createS3Store({ ...server, timeoutMs: 250 }), createS3Store(server)];
  const now = () => (begunAt === undefined ? patient : hasty);
  return {
    open: (): BlobStore => ({
      get: (key, range) => now().get(key, range),
      put: (key, bytes) => now().put(key, bytes),
      create: (key, bytes) => now().create(key, bytes),
      list: (prefix) => now().list(prefix),
      delete: (key) => now().delete(key),
    }),
    begin: () => (begunAt ??= server.requests.length),
    end: () => (begunAt = undefined),
    get failed() {
      return failed;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

type BadBucket = Awaited<ReturnType<typeof openBadBucket>>;

/** Two archivers of the same streams, each of which continues whenever the other was first. */
async function archiveTwice(world: FaultyWorld, bucket: BadBucket, open: () => BlobStore): Promise<void> {
  const keys = createMemoryStore();
  const start = () => world.startArchiver({ archive: open(), keys });
  const both = [await start(), await start()];
  bucket.begin();
  await world.write(60);
  while (bucket.failed <= 2 * S3_FAULTS.length) await world.write(10);
  bucket.end();
  await world.write(10);
  await world.expectExactlyOnce({ archive: bucket.open(), keys });
  for (const archiver of both) await archiver.stop();
  expect(both[0]!.fenced + both[1]!.fenced).toBeGreaterThan(0);
}

test("a bucket that fails in every way that buckets fail, and two archivers at once", async () => {
  await using world = await openFaultyWorld();
  await using bucket = await openBadBucket();
  expect(await probeStore(bucket.open())).toBe("conditional");
  await archiveTwice(world, bucket, bucket.open);
});

test("such a bucket that takes every create for a put: the broker keeps two archivers apart", async () => {
  await using world = await openFaultyWorld();
  await using bucket = await openBadBucket({ conditions: "ignored" });
  expect(await probeStore(bucket.open())).toBe("unconditional");
  const { broker, publish } = world;
  const onError = (error: unknown) => expect.unreachable(String(error));
  const open = () => createBrokerFencedStore(bucket.open(), { broker, publish, archive: "test", onError });
  await archiveTwice(world, bucket, open);
});
