import {
  COMMITS_STREAM,
  commitSubject,
  encodeEvent,
  encodeOpsRecord,
  encodeVerdict,
  generationsStream,
  type GenerationRef,
  JOBS_STREAM,
  jobSubject,
  LEASE_GROUPS,
  leaseSubject,
  leaseSubjects,
  LEASES_STREAM,
  liveSubject,
  liveVerdictSubject,
  logSubject,
  OPS_STREAM,
  opsSubject,
  parseNodeId,
  readerSubject,
  REVIEWS_STREAM,
  reviewSubject,
  ruleSetId,
  RULES_STREAM,
  ruleSetSubject,
  READERS_STREAM,
  shardOf,
  STREAM_START,
  VERDICTS_STREAM,
  verdictSubject,
  asSeq,
} from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { subscribeErasures, createGenerationLog, subscribeLive } from "@reprise/stream";
import {
  enqueueJob,
  pullJobs,
  subscribePresence,
  publishPresence,
  readPresence,
  openJobs,
} from "@reprise/jobs";
import { reviewList, readRuleSet, subscribeVerdicts } from "@reprise/moderation";
import { type Broker, flushConnection } from "./connection.ts";
import { createPublish } from "./publisher.ts";
import { inboxOf } from "./reply-inbox.ts";
import { getLastMessage } from "./stream-api.ts";
import { readLastMessage, readStreamMessages } from "./stream-messages.ts";
import { startWithUsers, TOPOLOGY, newRef, requested } from "@reprise/stream/testing";
import { agreeOnShards, readShardCount } from "../topology/shard-count.ts";
import { consumerCall, consumerCreate, directGet } from "../access/api-subject.ts";

/*
 * A service that was broken into names a reply subject where it may not publish, and the broker answers there. What is answered is any
 * message that the service may read: here one that it has appended to a log, which each of them may. Only workers reach a stream in this way: `reply-subject.test.ts`.
 */

const REFUSED = { code: "protocol_violation" };
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** The ways to have a message answered: with the broker's headers, and without any. */
const WAYS = [{}, { no_hdr: true }] as const;

/** Makes the broker publish `payload` to `subject`: an event in a log of this service's own, read with that reply subject. */
async function forge(
  broker: Broker,
  subject: string,
  payload: Uint8Array,
  way: (typeof WAYS)[number],
): Promise<void> {
  const own = newRef();
  const stream = generationsStream(shardOf(own.generation));
  await createPublish(inboxOf(broker.main))(logSubject(own), payload, {});
  const request = JSON.stringify({ last_by_subj: logSubject(own), ...way });
  broker.main.publish(directGet(stream), request, { reply: subject });
  await flushConnection(broker.main);
}

/** Asks for a message that does not exist: what is answered is empty. */
async function forgeEmpty(broker: Broker, subject: string): Promise<void> {
  broker.main.publish(directGet(generationsStream(0)), JSON.stringify({ seq: 999_999 }), { reply: subject });
  await flushConnection(broker.main);
}

async function untilStored(admin: Broker, stream: string, subject: string): Promise<void> {
  await eventually(async () => expect(await getLastMessage(admin.main, stream, subject)).toBeDefined());
}

describe.each(WAYS)("answered with %j", (way) => {
  test("a job that a worker has the broker store is not run", async () => {
    await using server = await startWithUsers();
    await using admin = await server.open("admin");
    await using worker = await server.connect("inference-worker");
    const [forged, real] = [newRef(), newRef()];
    const payload = encodeEvent(asSeq(0), requested(forged));
    await forge(worker, jobSubject("sim", forged), payload, way);
    await untilStored(admin, JOBS_STREAM, jobSubject("sim", forged));
    const queue = { model: "sim", ref: real, payload: encodeEvent(asSeq(0), requested(real)) };
    await enqueueJob(createPublish(inboxOf(admin.main)), queue);
    expect(
      await openJobs.readJob(admin.main, { model: "sim", ref: forged, priority: "interactive" }),
    ).toBeUndefined();
    const idsOf = (jobs: readonly { ref: GenerationRef }[]) => jobs.map(({ ref }) => ref.generation);
    expect(idsOf((await openJobs.readJobsAfter(admin.main, STREAM_START)).jobs)).toEqual([real.generation]);
    expect(idsOf(await Array.fromAsync(openJobs.readAllJobs(admin.main)))).toEqual([real.generation]);
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
    expect(errors).toMatchObject([REFUSED]);
    puller.stop();
    await puller.idle();
  });

  test("a verdict that a worker has the broker store or send is not believed", async () => {
    await using server = await startWithUsers();
    await using admin = await server.open("admin");
    await using worker = await server.connect("inference-worker");
    await using delivery = await server.connect("delivery");
    const verdict = encodeVerdict({ judged: asSeq(9), cleared: asSeq(9), decided: asSeq(0) });
    const ref = newRef();
    await forge(worker, verdictSubject(ref), verdict, way);
    await untilStored(admin, VERDICTS_STREAM, verdictSubject(ref));
    const log = createGenerationLog(delivery);
    await expect(log.verdicts.readVerdict(ref)).rejects.toMatchObject(REFUSED);
    await expect(log.verdicts.readVerdictFromLeader(ref)).rejects.toMatchObject(REFUSED);
    const errors: unknown[] = [];
    const believed: unknown[] = [];
    const live = subscribeVerdicts(delivery.main, ref, {
      onVerdict: (heard) => believed.push(heard),
      onError: (error) => errors.push(error),
    });
    await flushConnection(delivery.main);
    // Republished by the stream that it is stored in, and sent to where the broker republishes.
    await forge(worker, verdictSubject(ref), verdict, way);
    await forge(worker, liveVerdictSubject(ref), verdict, way);
    await eventually(() => expect(errors).toMatchObject([REFUSED, REFUSED]));
    expect(believed).toEqual([]);
    live.unsubscribe();
  });

  test("a number of shards, and a lease, that a worker has the broker store do not count, and admin stores the number again", async () => {
    await using server = await startWithUsers();
    await using admin = await server.open("admin");
    await using worker = await server.connect("inference-worker");
    const count = leaseSubject(LEASE_GROUPS.shards, "count");
    const lease = leaseSubject(LEASE_GROUPS.lanes, "OPS");
    const before = await getLastMessage(admin.main, LEASES_STREAM, count);
    await forge(worker, count, encode({ shards: 77 }), way);
    await forge(worker, lease, encode({ holder: "x" }), way);
    await untilStored(admin, LEASES_STREAM, lease);
    await eventually(async () =>
      expect((await getLastMessage(admin.main, LEASES_STREAM, count))?.streamSeq).not.toBe(before?.streamSeq),
    );
    expect(await readShardCount(worker.main)).toBeUndefined();
    const request = {
      afterStreamSeq: STREAM_START,
      subject: leaseSubjects(LEASE_GROUPS.lanes),
      maxMessages: 9,
    };
    expect(await readStreamMessages(admin.main, LEASES_STREAM, { ...request, maxBytes: 9_999 })).toEqual([]);
    await agreeOnShards(admin.main, { shards: TOPOLOGY.shards, countExisting: async () => TOPOLOGY.shards });
    expect(await readShardCount(worker.main)).toBe(TOPOLOGY.shards);
  });

  test("presence, and an erasure, that a worker has the broker store are not believed", async () => {
    await using server = await startWithUsers();
    await using admin = await server.open("admin");
    await using worker = await server.connect("inference-worker");
    const ref = newRef();
    const [real, other] = [parseNodeId("node-a"), parseNodeId("node-b")];
    const heard: unknown[] = [];
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    subscribePresence(admin.main, ref, { onReaders: (node) => heard.push(node), onError });
    subscribeErasures(admin.main, { onErased: (erased) => heard.push(erased.generation), onError });
    await flushConnection(admin.main);
    await forge(worker, readerSubject(ref, other), encode({ readers: 9, seq: 0 }), way);
    const erased = encodeOpsRecord({ kind: "erased", at: new Date(0).toISOString(), erasure: "x" });
    await forge(worker, opsSubject("erased", ref.tenant, ref.generation), erased, way);
    await eventually(() => expect(errors).toMatchObject([REFUSED, REFUSED]));
    const publish = createPublish(inboxOf(admin.main));
    await publishPresence(publish, { ref, node: real }, { readers: 1, seq: asSeq(0) });
    await eventually(() => expect(heard).toEqual([real]));
    await untilStored(admin, READERS_STREAM, readerSubject(ref, other));
    expect((await readPresence(admin.main, ref)).records).toMatchObject([{ node: real }]);
    await untilStored(admin, OPS_STREAM, opsSubject("erased", ref.tenant, ref.generation));
    const all = { afterStreamSeq: STREAM_START, maxMessages: 9, maxBytes: 9_999 };
    expect(await readStreamMessages(admin.main, OPS_STREAM, all)).toEqual([]);
    expect(await readStreamMessages(admin.main, OPS_STREAM, { ...all, raw: true })).toMatchObject([
      { isPublished: false, streamSeq: 1, subject: opsSubject("erased", ref.tenant, ref.generation) },
    ]);
  });

  test("a review, a commit and rules that a worker has the broker store do not count", async () => {
    await using server = await startWithUsers();
    await using admin = await server.open("admin");
    await using worker = await server.connect("inference-worker");
    const ref = newRef();
    const at = new Date(0).toISOString();
    const review = {
      rule: "r",
      category: "c",
      from_seq: 1,
      to_seq: 2,
      channel: "x",
      created_at: at,
      expires_at: at,
    };
    const id = await ruleSetId([{ terms: ["foo"] }]);
    await forge(worker, reviewSubject(ref, "rev_1"), encode(review), way);
    await forge(worker, commitSubject("archive", "log/1"), encode("x"), way);
    await forge(worker, ruleSetSubject(ref.tenant, id), encode([]), way);
    await untilStored(admin, REVIEWS_STREAM, reviewSubject(ref, "rev_1"));
    await untilStored(admin, COMMITS_STREAM, commitSubject("archive", "log/1"));
    await untilStored(admin, RULES_STREAM, ruleSetSubject(ref.tenant, id));
    expect((await reviewList.read(admin.main, ref.tenant, { limit: 9 })).reviews).toEqual([]);
    const commit = readLastMessage(admin.main, COMMITS_STREAM, commitSubject("archive", "log/1"));
    await expect(commit).rejects.toMatchObject(REFUSED);
    expect(await readRuleSet(admin.main, ref.tenant, id)).toBeUndefined();
  });
});

test("a consumer's message, which keeps its publisher's header, is no live verdict and no live event", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await flushConnection(admin.main);
  await using worker = await server.connect("inference-worker");
  await using delivery = await server.connect("delivery");
  const [ref, own] = [newRef(), newRef()];
  const believed: unknown[] = [];
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  subscribeVerdicts(delivery.main, ref, { onVerdict: (heard) => believed.push(heard), onError });
  subscribeLive(delivery.reads, ref, { onEvent: (heard) => believed.push(heard), onError });
  await Promise.all([flushConnection(delivery.main), flushConnection(delivery.reads)]);
  const verdict = encodeVerdict({ judged: asSeq(9), cleared: asSeq(9), decided: asSeq(0) });
  const subject = jobSubject("zzz", own);
  const config = { durable_name: "zzz", filter_subject: "job.zzz.>", ack_policy: "explicit" };
  const inbox = inboxOf(worker.main);
  const created = await inbox.ask(
    consumerCreate(JOBS_STREAM, "zzz", "job.zzz.>"),
    JSON.stringify({ stream_name: JOBS_STREAM, config }),
    5_000,
  );
  expect(typeof created === "string" ? created : created.json()).toMatchObject({ name: "zzz" });
  for (const reply of [liveVerdictSubject(ref), liveSubject(ref)]) {
    await createPublish(inbox)(subject, verdict, {});
    worker.main.publish(consumerCall("MSG.NEXT", JOBS_STREAM, "zzz"), "1", { reply });
  }
  await flushConnection(worker.main);
  await eventually(() => expect(errors).toMatchObject([REFUSED, REFUSED]));
  expect(believed).toEqual([]);
});

test("an empty answer in the place of a lease, the number of shards or rules is none", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using worker = await server.connect("inference-worker");
  const lease = leaseSubject(LEASE_GROUPS.lanes, "OPS");
  const count = leaseSubject(LEASE_GROUPS.shards, "count");
  const { tenant } = newRef();
  const id = await ruleSetId([]);
  await forgeEmpty(worker, lease);
  await forgeEmpty(worker, ruleSetSubject(tenant, id));
  await forgeEmpty(worker, count);
  await untilStored(admin, LEASES_STREAM, lease);
  await untilStored(admin, RULES_STREAM, ruleSetSubject(tenant, id));
  const request = {
    afterStreamSeq: STREAM_START,
    subject: leaseSubjects(LEASE_GROUPS.lanes),
    maxMessages: 9,
  };
  expect(await readStreamMessages(admin.main, LEASES_STREAM, { ...request, maxBytes: 9_999 })).toEqual([]);
  expect(await readRuleSet(admin.main, tenant, id)).toBeUndefined();
  await eventually(async () => expect(await readShardCount(admin.main)).toBeUndefined());
});

test("a copy is found at its own place: a reader that reads on after it goes forward", async () => {
  await using server = await startWithUsers();
  await using admin = await server.open("admin");
  await using worker = await server.connect("inference-worker");
  const [ref, copied] = [newRef(), newRef()];
  const log = createGenerationLog(admin);
  const event = encodeEvent(asSeq(0), requested(ref));
  for (const one of [newRef(), newRef()]) await log.publish(logSubject(one), event, {});
  await forge(worker, logSubject(copied), event, {});
  const stream = generationsStream(shardOf(copied.generation));
  await untilStored(admin, stream, logSubject(copied));
  const stored = await getLastMessage(admin.main, stream, logSubject(copied));
  const request = { afterStreamSeq: STREAM_START, maxMessages: 9, maxBytes: 99_999, raw: true };
  const messages = await readStreamMessages(admin.main, stream, request);
  expect(messages.at(-1)).toMatchObject({ streamSeq: stored?.streamSeq, subject: logSubject(copied) });
});
