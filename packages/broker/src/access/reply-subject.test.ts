import {
  bucketStream,
  generationsStream,
  JOBS_STREAM,
  LEASES_STREAM,
  logSubject,
  shardOf,
  TOKEN_KEYS_BUCKET,
} from "@reprise/protocol";
import { eventually, PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Broker, flushConnection } from "../nats/connection.ts";
import { isRefusal } from "../nats/jetstream-errors.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { getStreamInfo } from "../nats/stream-api.ts";
import { startWithUsers, newRef, SHARDS } from "@reprise/stream/testing";
import { consumerCall, consumerCreate, directGet, streamCall } from "./api-subject.ts";
import { SERVICE_USERS, type ServiceUser } from "./broker-user.ts";
import { MODERATION_CONSUMER, permissionsOf } from "./permissions.ts";

/*
 * nats-server (2.15.1) treats an answer to a subject of JetStream's API as a request, without checking whether the user who asked may make that
 * request. Accounts keep the services apart: each service has its own, and from there such an answer reaches only the subjects to which the
 * service itself may publish. See `accounts.ts`. Workers share the streams' account.
 */

const APART = ["delivery", "moderation", "audit-log"] as const;
const DELETE_JOBS = `$JS.API.STREAM.DELETE.${JOBS_STREAM}`;
/** No call of JetStream's API takes this: sent to one it does no harm. */
const ANSWER = '["an answer"]';

const targetsOf = (user: ServiceUser) => permissionsOf(user, { shards: SHARDS }).publish.allow.map(toTarget);

function toTarget(subject: string): string {
  return subject.replaceAll("*", "x").replace(">", "x");
}

/** Subjects that some user may publish to, those of every service's inbox, and calls that change streams. */
const TARGETS = new Set([
  ...SERVICE_USERS.flatMap(targetsOf),
  ...SERVICE_USERS.map((user) => `_INBOX_${user}.x`),
  "live.gen.x",
  ...["DELETE", "UPDATE", "PURGE", "MSG.DELETE"].map((call) => `$JS.API.STREAM.${call}.${JOBS_STREAM}`),
  "$JS.API.STREAM.CREATE.MADE",
  consumerCreate(bucketStream(TOKEN_KEYS_BUCKET), "reader"),
]);
/** nats-server itself refuses these in requests. */
for (const target of TARGETS) if (/^(_R_|\$JS\.ACK)\./.test(target)) TARGETS.delete(target);

/** Appends to a log of this service's own. @returns the request by which the broker answers with that */
async function storeAnswer(broker: Broker, payload: string): Promise<[subject: string, request: string]> {
  const own = newRef();
  await createPublish(inboxOf(broker.main))(logSubject(own), new TextEncoder().encode(payload), {});
  const request = JSON.stringify({ last_by_subj: logSubject(own), no_hdr: true });
  return [directGet(generationsStream(shardOf(own.generation))), request];
}

/** Collects the messages that reach the streams' account until `act` is done and answered. */
async function hearWhile(
  admin: Broker,
  act: () => Promise<void>,
): Promise<{ subject: string; text: string }[]> {
  const heard: { subject: string; text: string }[] = [];
  const callback = (_: unknown, msg: { subject: string; string(): string }) =>
    void heard.push({ subject: msg.subject, text: msg.string() });
  const subscription = admin.main.subscribe(">", { callback });
  await flushConnection(admin.main);
  await act();
  await flushConnection(admin.main);
  subscription.unsubscribe();
  return heard;
}

async function targetsReachedBy(user: ServiceUser): Promise<string[]> {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using service = await server.connect(user);
  const [subject, request] = await storeAnswer(service, ANSWER);
  const heard = await hearWhile(admin, async () => {
    for (const reply of TARGETS) service.main.publish(subject, request, { reply });
    // This request is answered after them.
    expect((await service.main.request(subject, request, { timeout: PATIENCE_MS })).string()).toBe(ANSWER);
  });
  const reached = new Set(heard.filter(({ text }) => text === ANSWER).map((one) => one.subject));
  return [...TARGETS].filter((target) => reached.has(target));
}

test.each(APART)("no answer of the broker to %s reaches a subject where it may not publish", async (user) => {
  const own = new Set(targetsOf(user));
  expect((await targetsReachedBy(user)).filter((target) => !own.has(target))).toEqual([]);
});

test("an answer to a worker reaches any subject that it names", async () => {
  expect(await targetsReachedBy("inference-worker")).toEqual([...TARGETS]);
});

test.each(APART)("%s can't have a stream deleted by an answer to any kind of request", async (user) => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using service = await server.connect(user);
  const [direct, request] = await storeAnswer(service, "{}");
  const own = logSubject(newRef());
  const heard = await hearWhile(admin, async () => {
    const reply = { reply: DELETE_JOBS };
    service.main.publish(direct, request, reply);
    service.main.publish(streamCall("MSG.GET", LEASES_STREAM), JSON.stringify({ seq: 1 }), reply);
    service.main.publish(streamCall("INFO", JOBS_STREAM), "", reply);
    service.main.publish(own, "{}", reply);
    // A call of JetStream's API is answered by another thread than a direct get, in the order of the calls.
    await getStreamInfo(service.main, JOBS_STREAM);
    await service.main.request(direct, request, { timeout: PATIENCE_MS });
  });
  expect(heard.map(({ subject }) => subject)).toContain(own);
  expect(heard.filter(({ subject }) => subject === DELETE_JOBS)).toEqual([]);
  expect(await getStreamInfo(admin.main, JOBS_STREAM)).toBeDefined();
});

test("moderation can't have a stream deleted by its consumer, whether that is pulled from or delivers", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using moderation = await server.connect("moderation");
  await storeAnswer(moderation, "{}");
  const request = async (subject: string, payload: object) =>
    (await moderation.main.request(subject, JSON.stringify(payload), { timeout: PATIENCE_MS })).json();
  for (let shard = 0; shard < SHARDS; shard++) {
    const stream = generationsStream(shard);
    const create = consumerCreate(stream, MODERATION_CONSUMER);
    const heard = await hearWhile(admin, async () => {
      const pulled = { durable_name: MODERATION_CONSUMER, ack_policy: "none" };
      expect(await request(create, { stream_name: stream, config: pulled })).toMatchObject({
        name: MODERATION_CONSUMER,
      });
      const next = consumerCall("MSG.NEXT", stream, MODERATION_CONSUMER);
      moderation.main.publish(next, "1", { reply: DELETE_JOBS });
      await request(consumerCall("INFO", stream, MODERATION_CONSUMER), {});
      await admin.main.request(`$JS.API.CONSUMER.DELETE.${stream}.${MODERATION_CONSUMER}`, "", {
        timeout: PATIENCE_MS,
      });
      const pushed = { name: MODERATION_CONSUMER, ack_policy: "none", deliver_subject: DELETE_JOBS };
      expect(await request(create, { stream_name: stream, config: pushed })).toMatchObject({
        config: { deliver_subject: DELETE_JOBS },
      });
      await request(consumerCall("INFO", stream, MODERATION_CONSUMER), {});
    });
    expect(heard.filter(({ subject }) => subject === DELETE_JOBS)).toEqual([]);
  }
  expect(await getStreamInfo(admin.main, JOBS_STREAM)).toBeDefined();
});

test("a worker can have the broker delete a stream, and make another, by the reply subject of a request", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using worker = await server.connect("inference-worker");
  const calls = [
    [DELETE_JOBS, {}],
    ["$JS.API.STREAM.CREATE.MADE", { name: "MADE", subjects: ["made"] }],
  ] as const;
  for (const [reply, request] of calls)
    worker.main.publish(...(await storeAnswer(worker, JSON.stringify(request))), { reply });
  await eventually(async () => {
    const deleted: unknown = await getStreamInfo(admin.main, JOBS_STREAM).catch((error: unknown) => error);
    expect(isRefusal(deleted, "streamNotFound")).toBe(true);
    expect((await getStreamInfo(admin.main, "MADE")).config.subjects).toEqual(["made"]);
  });
});
