import { JOBS_STREAM, jobSubject, LEASE_GROUPS, leaseSubject, LEASES_STREAM } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test } from "vitest";
import { flushConnection } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { getLastMessage, purgeSubject } from "../nats/stream-api.ts";
import { createGenerationLog } from "@reprise/stream";
import { startWithUsers, TOPOLOGY, newRef, SHARDS } from "@reprise/stream/testing";
import { BROKER_USERS } from "./broker-user.ts";
import type { Forbidden } from "./forbidden.ts";

const SET_UP = { code: "broker_incompatible", message: expect.stringContaining("npm run nats -- set-up") };

test("a service starts once admin has made the streams, and changes none of them itself", async () => {
  await using server = await startWithUsers();
  await expect(server.open("delivery")).rejects.toMatchObject(SET_UP);
  await using admin = await server.open("admin");
  for (const user of BROKER_USERS) await (await server.open(user)).close();
  await expect(server.open("delivery", { ...TOPOLOGY, retentionMs: 7_200_000 })).rejects.toMatchObject(
    SET_UP,
  );
  await expect(server.open("delivery", { ...TOPOLOGY, shards: 3 })).rejects.toMatchObject(SET_UP);
  await admin.close();
  await (await server.open("admin", { ...TOPOLOGY, retentionMs: 7_200_000 })).close();
  await (await server.open("moderation", { ...TOPOLOGY, retentionMs: 7_200_000 })).close();
});

test("a service that has another one's credentials is told so before it asks for anything", async () => {
  await using server = await startWithUsers();
  for (const [user, holder] of [
    ["delivery", "inference-worker"],
    ["inference-worker", "moderation"],
    ["audit-log", "moderation"],
  ] as const)
    await expect(server.connect(user, holder)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("another user's credentials"),
    });
  await (await server.connect("admin", "audit-log")).close();
});

test("where the broker has lost the number of shards, a service is told at once what to run", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await purgeSubject(admin.main, LEASES_STREAM, leaseSubject(LEASE_GROUPS.shards, "count"));
  await expect(server.open("delivery")).rejects.toMatchObject(SET_UP);
  await (await server.open("admin")).close();
  await (await server.open("delivery")).close();
});

test("what the broker refuses is told, and a request that it refuses is answered at once", async () => {
  await using server = await startWithUsers();
  await using _ = await server.open("admin");
  await using broker = await server.connect("moderation");
  const told: Forbidden[] = [];
  broker.onForbidden((forbidden) => told.push(forbidden));
  const ref = newRef();
  const publish = createPublish(inboxOf(broker.main));
  const outcome = await publish(jobSubject("sim", ref), new Uint8Array(), { timeoutMs: 60_000 });
  expect(outcome).toEqual({ kind: "unavailable", reason: "forbidden" });
  await expect(getLastMessage(broker.main, JOBS_STREAM, "job.>", 60_000)).rejects.toMatchObject({
    code: "broker_unavailable",
    message: expect.stringContaining("forbidden"),
  });
  await eventually(() =>
    expect(told.map(({ operation, subject }) => `${operation} ${subject}`)).toEqual([
      `publish ${jobSubject("sim", ref)}`,
      `publish $JS.API.STREAM.MSG.GET.${JOBS_STREAM}`,
    ]),
  );
});

test("a made-up id of a shard that there is not is of an empty log, and asks the broker nothing", async () => {
  await using server = await startWithUsers();
  await using _ = await server.open("admin");
  await using broker = await server.connect("delivery");
  const told: Forbidden[] = [];
  broker.onForbidden((forbidden) => told.push(forbidden));
  const log = createGenerationLog(broker, { shards: SHARDS });
  const ref = newRef();
  const elsewhere = {
    ...ref,
    generation: ref.generation.replace(/^gen_\d+/, "gen_77") as typeof ref.generation,
  };
  expect(await log.reader.readLog(elsewhere)).toEqual({ events: [], streamSeq: 0 });
  expect(await log.reader.readFirst(elsewhere)).toBeUndefined();
  expect(await log.reader.readLast(elsewhere)).toBeUndefined();
  expect(await log.leader.readLast(elsewhere)).toBeUndefined();
  await flushConnection(broker.reads);
  expect(told).toEqual([]);
});
