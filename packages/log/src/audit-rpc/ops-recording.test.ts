import { decodeOpsRecord, type OpsRecord, OPS_STREAM, opsSubject } from "@reprise/protocol";
import { expect, test } from "vitest";
import { subscribeErasures } from "../erasure/erasure-feed.ts";
import { recordOps } from "./ops-recording.ts";
import type { Publish } from "../nats/publisher.ts";
import { readStreamMessages } from "../nats/stream-messages.ts";
import { eventually } from "../testing/eventually.ts";
import { newRef, openWorld, type World } from "../testing/world.ts";

const ERASED: OpsRecord = { kind: "erased", at: "2026-11-21T12:00:00.000Z", erasure: "era_1" };
const ACCESS: OpsRecord = { kind: "access", at: "2026-11-21T12:00:00.000Z", by: "ann", call: "search" };

async function stored({ broker }: World) {
  const messages = await readStreamMessages(broker.reads, OPS_STREAM, {
    afterStreamSeq: 0,
    maxMessages: 100,
    maxBytes: 100_000,
  });
  return messages.map(({ subject, payload }) => [subject, decodeOpsRecord(payload)]);
}

test("a record is stored under its tenant, its kind and its generation, or none", async () => {
  await using world = await openWorld();
  const ref = newRef();
  expect(await recordOps(world.log.publish, ref, ERASED)).toBe(true);
  expect(await recordOps(world.log.publish, { tenant: ref.tenant }, ACCESS)).toBe(true);
  expect(await stored(world)).toEqual([
    [opsSubject("erased", ref.tenant, ref.generation), ERASED],
    [opsSubject("access", ref.tenant), ACCESS],
  ]);
});

test("a record whose answer was lost is there once", async () => {
  await using world = await openWorld();
  let calls = 0;
  const publish: Publish = async (...args) => {
    const outcome = await world.log.publish(...args);
    return calls++ === 0 ? { kind: "unavailable", reason: "timeout" } : outcome;
  };
  expect(await recordOps(publish, newRef(), ACCESS)).toBe(true);
  expect([calls, await stored(world)]).toEqual([2, [[expect.any(String), ACCESS]]]);
});

test("a record waits for a broker that is away, for as long as it may", async () => {
  await using world = await openWorld();
  await world.server.kill("SIGKILL");
  expect(await recordOps(world.log.publish, newRef(), ACCESS, { budgetMs: 0 })).toBe(false);
  const waiting = recordOps(world.log.publish, newRef(), ERASED, { budgetMs: 20_000 });
  await world.server.restart();
  expect(await waiting).toBe(true);
  // The connection that is read over may be back later than the one that is written over.
  expect(await eventually(() => stored(world))).toEqual([[expect.any(String), ERASED]]);
});

test("the erasure feed reports the erasures of all tenants, and no other records", async () => {
  await using world = await openWorld();
  const ref = newRef();
  const heard: unknown[] = [];
  subscribeErasures(world.broker.main, {
    onErased: (erased) => heard.push(erased),
    onError: (error) => world.errors.push(error),
  });
  await recordOps(world.log.publish, ref, ACCESS);
  await recordOps(world.log.publish, ref, ERASED);
  await eventually(() => expect(heard).toEqual([ref]));
  world.broker.main.publish("ops.acme.erased.not-a-generation");
  await eventually(() => expect(world.errors).toMatchObject([{ code: "protocol_violation" }]));
  expect(heard).toHaveLength(1);
});
