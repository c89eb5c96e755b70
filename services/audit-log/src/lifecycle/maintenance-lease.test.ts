import { createFaultyStore } from "@reprise/archive/testing";
import { expect, test } from "vitest";
import { readLeaseHolder } from "../testing/lease-holder.ts";
import { openLifecycleWorld } from "../testing/lifecycle-world.ts";
import { startMaintenance } from "./maintenance.ts";

test("closing while the store does not answer gives the lease back all the same", async () => {
  await using world = await openLifecycleWorld();
  const listing = Promise.withResolvers<void>();
  const store = createFaultyStore(world.store, ({ method }) => {
    if (method !== "list") return undefined;
    listing.resolve();
    return "hang";
  });
  const errors: unknown[] = [];
  const maintenance = startMaintenance({
    ...(await world.openContext()),
    store,
    holder: "one",
    tenants: () => [],
    closeMs: 50,
    onError: (error) => errors.push(error),
  });
  const holder = () => readLeaseHolder(world.live.broker, "audit-maintenance", "rounds");
  await expect.poll(holder).toBe("one");
  void maintenance.run();
  await listing.promise;
  await maintenance.close();
  expect(await holder()).toBe("");
  expect(errors).toEqual([]);
});
