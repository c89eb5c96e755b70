import { setImmediate as turn } from "node:timers/promises";
import type { BlobStore } from "@reprise/archive";
import { createFaultyStore, createMemoryStore, type FaultPlan } from "@reprise/archive/testing";
import { expect, test } from "vitest";
import { openFaultyWorld } from "../testing/faulty-world.ts";

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
      expect.objectContaining({ message: expect.stringContaining("could not be archived in time") }),
    );

    const next = await world.startArchiver(stores);
    await world.write(1);
    await world.expectExactlyOnce(stores);
    await next.stop();
    expect(next.errors).toEqual([]);
  },
);

test("an archiver that is to stop waits for the commit that it has begun", async () => {
  await using world = await openFaultyWorld();
  const stores = { archive: createMemoryStore(), keys: createMemoryStore() };
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let isHeld = false;
  let isCommitted = false;
  const held: BlobStore = {
    ...stores.archive,
    async put(key, bytes) {
      if (isHeld && key.startsWith("data/")) {
        begun.resolve();
        await goOn.promise;
      }
      await stores.archive.put(key, bytes);
    },
    async create(key, bytes) {
      const outcome = await stores.archive.create(key, bytes);
      isCommitted ||= isHeld && key.startsWith("_log/");
      return outcome;
    },
  };
  const archiver = await world.startArchiver({ ...stores, archive: held }, { closeMs: 60_000 });
  await world.write(20);
  await world.expectExactlyOnce(stores);
  isHeld = true;
  await world.write(20);
  await begun.promise;
  const stopped = archiver.stop().then(() => ({ isCommitted }));
  // One that does not wait has stopped by then: the broker has nothing left to say to it.
  await world.broker.reads.flush();
  for (let turns = 0; turns < 100; turns++) await turn();
  goOn.resolve();
  expect(await stopped).toEqual({ isCommitted: true });
  expect([archiver.errors, archiver.fenced]).toEqual([[], 0]);

  const next = await world.startArchiver(stores);
  await world.expectExactlyOnce(stores);
  await next.stop();
});
