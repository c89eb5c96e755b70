import { asUnixMs, plusMs, type TenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { ACME, BETA, openWorld } from "../testing/world.ts";
import { KeyUse, readKeyUse } from "./key-use.ts";

type World = Awaited<ReturnType<typeof openWorld>>;

const START = asUnixMs(Date.parse("2026-11-22T12:00:00.000Z"));
/** No flush comes by itself within a test. */
const flushMs = 3_600_000;

/** A write without an acknowledgement is visible a moment later. */
const usesOf = async ({ broker }: World, tenant: TenantId) =>
  Object.fromEntries(await readKeyUse(broker.reads, tenant));

test("the last use of each key is stored, of one tenant apart from another's", async () => {
  await using world = await openWorld();
  let now = START;
  await using use = new KeyUse(world.broker.main, { flushMs, now: () => now });
  use.note(ACME, "key_0000000000000001");
  use.note(BETA, "key_0000000000000002");
  now = plusMs(now, 1_000);
  use.note(ACME, "key_0000000000000001");
  use.note(ACME, "key_0000000000000003");
  expect([...(await readKeyUse(world.broker.reads, ACME))]).toEqual([]);
  await use.close();
  await expect
    .poll(() => usesOf(world, ACME))
    .toEqual({
      key_0000000000000001: "2026-11-22T12:00:01.000Z",
      key_0000000000000003: "2026-11-22T12:00:01.000Z",
    });
  await expect
    .poll(() => usesOf(world, BETA))
    .toEqual({
      key_0000000000000002: "2026-11-22T12:00:00.000Z",
    });
});

test("a later use takes the place of an earlier one, and a flush stores only what was used since the last", async () => {
  await using world = await openWorld();
  const published: string[] = [];
  const subscription = world.broker.main.subscribe("keyuse.>", {
    callback: (_error, { subject }) => void published.push(subject.split(".").at(-1) ?? ""),
  });
  let now = START;
  await using use = new KeyUse(world.broker.main, { flushMs, now: () => now });
  use.note(ACME, "key_0000000000000001");
  use.note(ACME, "key_0000000000000002");
  use.flush();
  now = plusMs(now, 60_000);
  use.note(ACME, "key_0000000000000001");
  use.flush();
  use.flush();
  await use.close();
  subscription.unsubscribe();
  expect(published).toEqual(["key_0000000000000001", "key_0000000000000002", "key_0000000000000001"]);
  await expect
    .poll(() => usesOf(world, ACME))
    .toEqual({
      key_0000000000000001: "2026-11-22T12:01:00.000Z",
      key_0000000000000002: "2026-11-22T12:00:00.000Z",
    });
});

test("closing without a broker loses the times, and does not hang or fail", async () => {
  await using world = await openWorld();
  const { broker } = await world.addNode();
  await using use = new KeyUse(broker.main, { flushMs });
  use.note(ACME, "key_0000000000000001");
  await broker.main.close();
  await use.close();
  expect([...(await readKeyUse(world.broker.reads, ACME))]).toEqual([]);
});
