import {
  decodeEvent,
  encodeEvent,
  encodeVerdict,
  generationsStream,
  JOBS_STREAM,
  jobSubject,
  liveVerdictSubject,
  logSubject,
  shardOf,
  VERDICTS_STREAM,
  verdictSubject,
  asSeq,
} from "@reprise/protocol";
import { startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { enqueueJob } from "../jobs/enqueue-job.ts";
import { pullJobs } from "../jobs/pull-jobs.ts";
import { subscribeVerdicts } from "../moderation/verdicts.ts";
import { directGetLast } from "./api-subject.ts";
import { type Broker, connectBroker, flushConnection } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { getLastMessage } from "../nats/stream-api.ts";
import { createGenerationLog } from "../read/generation-log.ts";
import { eventually } from "../testing/eventually.ts";
import { newRef, requested, SHARDS } from "../testing/world.ts";
import { openBroker } from "../topology/open-broker.ts";
import { BROKER_USERS, type BrokerUser } from "./broker-user.ts";
import type { Forbidden } from "./forbidden.ts";
import { permissionsOf } from "./permissions.ts";

const TOPOLOGY = { shards: SHARDS, replicas: 1, retentionMs: 3_600_000 };

/** A real broker with the platform's users, and nothing in it. */
async function startWithUsers() {
  const toUser = (user: BrokerUser) => ({
    user,
    password: user,
    permissions: permissionsOf(user, { shards: SHARDS }),
  });
  await using stack = new AsyncDisposableStack();
  const extraConfig = { authorization: { users: BROKER_USERS.map(toUser) } };
  const { url } = stack.use(await startTestBroker({ extraConfig }));
  const addressOf = (user: BrokerUser) => ({ url, access: { user, password: user }, user, name: user });
  const kept = stack.move();
  return {
    connect: (user: BrokerUser): Promise<Broker> => connectBroker(addressOf(user)),
    open: (user: BrokerUser, topology = TOPOLOGY): Promise<Broker> =>
      openBroker({ ...addressOf(user), ...topology }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

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

/** Has the broker copy the last message of a log to a subject where this user may not publish. */
async function copyTo(broker: Broker, subject: string, payload: Uint8Array): Promise<void> {
  const own = newRef();
  const stream = generationsStream(shardOf(own.generation));
  await createPublish(inboxOf(broker.main))(logSubject(own), payload, { timeoutMs: 60_000 });
  broker.main.publish(directGetLast(stream, logSubject(own)), "", { reply: subject });
  await flushConnection(broker.main);
}

test("a job that moderation has the broker copy from a log is not run", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using moderation = await server.connect("moderation");
  await using worker = await server.connect("inference-worker");
  const [forged, real] = [newRef(), newRef()];
  const payload = encodeEvent(asSeq(0), requested(forged));
  await copyTo(moderation, jobSubject("sim", forged), payload);
  const stored = await eventually(async () => {
    const message = await getLastMessage(admin.main, JOBS_STREAM, jobSubject("sim", forged));
    expect(message).toBeDefined();
    return message;
  });
  // This is what the broker does: the copy is there, word for word.
  expect(decodeEvent(stored!.payload)).toEqual(decodeEvent(payload));
  const publish = createPublish(inboxOf(admin.main));
  await enqueueJob(publish, { model: "sim", ref: real, payload: encodeEvent(asSeq(0), requested(real)) });
  const [run, errors]: [string[], unknown[]] = [[], []];
  const puller = await pullJobs({
    connection: worker.main,
    model: "sim",
    slots: 4,
    ackWaitMs: 5_000,
    async run(job) {
      run.push(job.ref.generation);
      await job.ack();
    },
    onError: (error) => errors.push(error),
  });
  await eventually(() => expect(run).toEqual([real.generation]));
  expect(errors).toMatchObject([{ code: "protocol_violation" }]);
  puller.stop();
  await puller.idle();
});

test("a verdict that a worker has the broker copy from a log is not believed", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using worker = await server.connect("inference-worker");
  await using delivery = await server.connect("delivery");
  const verdict = encodeVerdict({ judged: asSeq(9), cleared: asSeq(9), decided: asSeq(0) });
  const ref = newRef();
  await copyTo(worker, verdictSubject(ref), verdict);
  await eventually(async () =>
    expect(await getLastMessage(admin.main, VERDICTS_STREAM, verdictSubject(ref))).toBeDefined(),
  );
  const log = createGenerationLog(delivery);
  const refused = { code: "protocol_violation", message: expect.stringContaining("copy") };
  await expect(log.verdicts.readVerdict(ref)).rejects.toMatchObject(refused);
  await expect(log.verdicts.readVerdictFromLeader(ref)).rejects.toMatchObject(refused);
  const errors: unknown[] = [];
  const believed: unknown[] = [];
  const live = subscribeVerdicts(delivery.main, ref, {
    onVerdict: (heard) => believed.push(heard),
    onError: (error) => errors.push(error),
  });
  await flushConnection(delivery.main);
  // Republished by the stream that it is stored in, and sent to where the broker republishes.
  await copyTo(worker, verdictSubject(ref), verdict);
  await copyTo(worker, liveVerdictSubject(ref), verdict);
  await eventually(() => expect(errors).toMatchObject([refused, refused]));
  expect(believed).toEqual([]);
  live.unsubscribe();
});
