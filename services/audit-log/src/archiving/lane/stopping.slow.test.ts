import { setImmediate as turn } from "node:timers/promises";
import type { BlobStore } from "@reprise/archive";
import { createFaultyStore, createMemoryStore, type FaultPlan } from "@reprise/archive/testing";
import { expect, test } from "vitest";
import { type FaultyWorld, openFaultyWorld } from "../../testing/worlds/faulty-world.ts";

test.each(["before", "after", "hang"] as const)(
  "an archiver that is to stop while its store is away soon does, and another archives what it has left: %s",
  async (fault) => {
    await using world = await openFaultyWorld();
    const stores = { archive: createMemoryStore(), keys: createMemoryStore() };
    let isAway = false;
    let failed = 0;
    const plan: FaultPlan = ({ key }) => {
      if (!isAway) return undefined;
      if (key.startsWith("data/")) failed++;
      return fault;
    };
    const away = { ...stores, archive: createFaultyStore(stores.archive, plan) };
    const archiver = await world.startArchiver(away, { closeMs: 100 });
    await world.write(20);
    await world.expectExactlyOnce(stores);
    isAway = true;
    await world.write(20);
    await expect.poll(() => failed).toBeGreaterThan(0);
    await archiver.stop();
    expect(archiver.errors).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining("could not be committed in time") }),
    );

    const next = await world.startArchiver(stores);
    await world.write(1);
    await world.expectExactlyOnce(stores);
    await next.stop();
    expect(next.errors).toEqual([]);
  },
);

test("an archiver that is to stop waits for its commits: for the one that it has begun, and for that of what it has read since", async () => {
  await using world = await openFaultyWorld();
  const stores = { archive: createMemoryStore(), keys: createMemoryStore() };
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isHeld = false;
  let isStopped = false;
  const late: string[] = [];
  const plan: FaultPlan = ({ method, key }) => {
    if (isStopped && method !== "get" && method !== "list") late.push(`${method} ${key}`);
    return undefined;
  };
  const watched = createFaultyStore(stores.archive, plan);
  const held: BlobStore = {
    ...watched,
    async put(key, bytes) {
      if (isHeld && key.startsWith("data/")) {
        begun.resolve();
        await goOn.promise;
      }
      await watched.put(key, bytes);
    },
  };
  const archiver = await world.startArchiver({ ...stores, archive: held }, { closeMs: 60_000 });
  await world.write(20);
  await world.expectExactlyOnce(stores);
  isHeld = true;
  await world.write(20);
  await begun.promise;
  // Read while the commit is held up, and committed after that.
  await world.write(20);
  await settle(world);
  const stopped = archiver.stop().then(() => {
    isStopped = true;
  });
  goOn.resolve();
  await stopped;
  await settle(world);
  expect([late, archiver.errors, archiver.fenced]).toEqual([[], [], 0]);

  const next = await world.startArchiver(stores);
  await world.expectExactlyOnce(stores);
  await next.stop();
});

/** Gives an archiver every opportunity to continue: afterwards the broker has no more messages for it. */
async function settle({ broker }: FaultyWorld): Promise<void> {
  for (let rounds = 0; rounds < 20; rounds++) {
    await broker.reads.flush();
    for (let turns = 0; turns < 20; turns++) await turn();
  }
}
