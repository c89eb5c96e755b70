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
