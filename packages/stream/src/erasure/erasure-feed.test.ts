import { encodeOpsRecord, type OpsRecord, opsSubject } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import { subscribeErasures } from "./erasure-feed.ts";
import { newRef, openWorld } from "../testing/world.ts";

const ERASED: OpsRecord = { kind: "erased", at: "2026-11-21T12:00:00.000Z", erasure: "era_1" };
const ACCESS: OpsRecord = { kind: "access", at: "2026-11-21T12:00:00.000Z", by: "ann", call: "search" };

test("the erasure feed reports the erasures of all tenants, and no other records", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const heard: unknown[] = [];
  subscribeErasures(world.broker.main, {
    onErased: (erased) => heard.push(erased),
    onError: (error) => world.errors.push(error),
  });
  for (const record of [ACCESS, ERASED])
    await world.log.publish(opsSubject(record.kind, ref.tenant, ref.generation), encodeOpsRecord(record), {});
  await eventually(() => expect(heard).toEqual([ref]));
  world.broker.main.publish("ops.acme.erased.not-a-generation");
  await eventually(() => expect(world.errors).toMatchObject([{ code: "protocol_violation" }]));
  expect(heard).toHaveLength(1);
});
