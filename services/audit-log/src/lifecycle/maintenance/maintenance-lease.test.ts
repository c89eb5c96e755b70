import { plusMs, unixNow } from "@reprise/protocol";
import { createFaultyStore } from "@reprise/archive/testing";
import { logErasure } from "@reprise/stream";
import { completed, createRef, delta } from "@reprise/testkit";
import { expect, test } from "vitest";
import { keepErrors } from "../../testing/keep-errors.ts";
import { beginErasure } from "../../testing/worlds/begun-erasure.ts";
import { readLeaseHolder, takeLease } from "../../testing/worlds/lease-holder.ts";
import { openLifecycleWorld, writeLog } from "../../testing/worlds/lifecycle-world.ts";
import { openErasures } from "../../records/erasures.ts";
import { startMaintenance } from "./maintenance.ts";

const HOUR_MS = 3_600_000;

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
    onError: keepErrors(errors),
  });
  const holder = () => readLeaseHolder(world.live.broker, "audit-maintenance", "rounds");
  await expect.poll(holder).toBe("one");
  void maintenance.run();
  await listing.promise;
  await maintenance.close();
  expect(await holder()).toBe("");
  expect(errors).toEqual([]);
});

test("an erasure that waits when the lease goes is left to the process that has it now", async () => {
  await using world = await openLifecycleWorld();
  const { broker, log } = world.live;
  const ref = createRef();
  await writeLog(log, ref, {}, [delta("secret"), completed()]);
  const context = await world.openContext();
  await beginErasure(context, [ref]);
  const errors: unknown[] = [];
  const maintenance = startMaintenance({
    ...context,
    holder: "one",
    tenants: () => [],
    settleMs: HOUR_MS,
    now: () => plusMs(unixNow(), HOUR_MS),
    onError: keepErrors(errors),
  });
  await expect.poll(() => readLeaseHolder(broker, "audit-maintenance", "rounds")).toBe("one");
  const round = maintenance.run();
  await expect.poll(() => logErasure.isPurged({ ...world.live, ref })).toBe(true);
  await takeLease(broker, "audit-maintenance", "rounds");
  await round;
  expect(openErasures(context.archive.state)).toHaveLength(1);
  expect(errors).toEqual([]);
  await maintenance.close();
});
