import type { Broker } from "../nats/connection.ts";
import type { Publish } from "../nats/publisher.ts";
import { readStreamMessages } from "../nats/stream-messages.ts";
import { createGenerationLog, type GenerationLog } from "@reprise/stream";
import { openBroker } from "../topology/topology.ts";
import { decodeOpsRecord, type OpsRecord, OPS_STREAM, opsSubject, asStreamSeq } from "@reprise/protocol";
import { createRef, startTestBroker, type TestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { recordOps } from "./record-ops.ts";

const ERASED: OpsRecord = { kind: "erased", at: "2026-11-21T12:00:00.000Z", erasure: "era_1" };
const ACCESS: OpsRecord = { kind: "access", at: "2026-11-21T12:00:00.000Z", by: "ann", call: "search" };

interface World extends AsyncDisposable {
  readonly server: TestBroker;
  readonly broker: Broker;
  readonly log: GenerationLog;
}

async function openWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
  const onError = (error: unknown) => expect.unreachable(String(error));
  const broker = stack.use(await openBroker({ url: server.url, name: "test", onError, ...topology }));
  const log = createGenerationLog(broker);
  const owned = stack.move();
  return { server, broker, log, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function stored({ broker }: World) {
  const messages = await readStreamMessages(broker.reads, OPS_STREAM, {
    afterStreamSeq: asStreamSeq(0),
    maxMessages: 100,
    maxBytes: 100_000,
  });
  return messages.map(({ subject, payload }) => [subject, decodeOpsRecord(payload)]);
}

test("a record is stored under its tenant, its kind and its generation, or none", async () => {
  await using world = await openWorld();
  const ref = createRef();
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
  expect(await recordOps(publish, createRef(), ACCESS)).toBe(true);
  expect([calls, await stored(world)]).toEqual([2, [[expect.any(String), ACCESS]]]);
});

test("a record waits for a broker that is away, for as long as it may", async () => {
  await using world = await openWorld();
  await world.server.kill("SIGKILL");
  expect(await recordOps(world.log.publish, createRef(), ACCESS, { budgetMs: 0 })).toBe(false);
  const waiting = recordOps(world.log.publish, createRef(), ERASED, { budgetMs: 20_000 });
  await world.server.restart();
  expect(await waiting).toBe(true);
  // The connection that is read over may be back later than the one that is written over.
  await expect.poll(() => stored(world)).toEqual([[expect.any(String), ERASED]]);
});
