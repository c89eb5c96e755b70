import { setImmediate } from "node:timers/promises";
import * as protocol from "@reprise/protocol";
import { startTestBroker, type TestBroker } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectBroker, flushConnection } from "../nats/connection.ts";
import { LOGINS, newRef } from "@reprise/stream/testing";
import { accountsOf } from "./accounts.ts";
import { type BrokerUser, SERVICE_USERS, type ServiceUser } from "./broker-user.ts";
import type { Forbidden } from "./forbidden.ts";

/*
 * Every user × every subject and API call, tried at a real nats-server. What is expected is written out here, apart from the table that the
 * server is configured with. Each letter is a user that may: D delivery, W inference-worker, M moderation, A audit-log, Y analytics.
 */

const LETTERS: Readonly<Record<ServiceUser, string>> = {
  delivery: "D",
  "inference-worker": "W",
  moderation: "M",
  "audit-log": "A",
  analytics: "Y",
};
const SHARDS = 2;

/** A subject, who may publish to it, and who may subscribe to it. */
type Row = readonly [subject: string, publish: string, subscribe: string];

const ref = newRef();
const shard = protocol.shardOf(ref.generation);
const node = protocol.parseNodeId("node-1");
const blob = protocol.toBlobId(new Uint8Array(17));
const conversation = protocol.toConversationId(new Uint8Array(17));
const thread = { tenant: ref.tenant, protocol: "tanstack", endUser: undefined, id: "t" };
const upload = protocol.createUploadId(new Uint8Array(17));

/** By the name of what builds the subject in `protocol`. */
const SUBJECTS: Readonly<Record<string, readonly Row[]>> = {
  logSubject: [[protocol.logSubject(ref), "DWMA", ""]],
  shardSubjects: [
    [protocol.shardSubjects(shard).stored, "", ""],
    [protocol.shardSubjects(shard).live, "", "DW"],
  ],
  SHARDS_SUBJECTS: [[protocol.SHARDS_SUBJECTS, "", ""]],
  LOG_SUBJECTS: [[protocol.LOG_SUBJECTS, "", ""]],
  tenantLogSubjects: [[protocol.tenantLogSubjects(shard, ref.tenant), "", ""]],
  liveSubject: [[protocol.liveSubject(ref), "", "DW"]],
  LIVE_LOG_SUBJECTS: [[protocol.LIVE_LOG_SUBJECTS, "", "DW"]],
  inputSubject: [[protocol.inputSubject(ref), "D", ""]],
  INPUT_SUBJECTS: [[protocol.INPUT_SUBJECTS, "", ""]],
  liveInputSubject: [[protocol.liveInputSubject(ref), "", "W"]],
  LIVE_INPUT_SUBJECTS: [[protocol.LIVE_INPUT_SUBJECTS, "", "W"]],
  checkpointSubject: [[protocol.checkpointSubject(ref), "DWMA", ""]],
  CHECKPOINTS_SUBJECTS: [[protocol.CHECKPOINTS_SUBJECTS, "", ""]],
  jobSubject: protocol.PRIORITIES.map((one) => [protocol.jobSubject("sim", ref, one), "DW", ""]),
  generationJobs: protocol.generationJobs(ref).map((one) => [one, "", ""]),
  modelJobs: [[protocol.modelJobs("sim"), "", ""]],
  jobLane: protocol.PRIORITIES.map((priority) => {
    const { filter } = protocol.jobLane("sim", { tenant: ref.tenant, priority });
    return [filter, "", ""];
  }),
  queuedSubject: protocol.PRIORITIES.map((one) => [protocol.queuedSubject("sim", ref, one), "W", "W"]),
  queuedJobs: [[protocol.queuedJobs("sim"), "", "W"]],
  QUEUED_SUBJECTS: [[protocol.QUEUED_SUBJECTS, "", "W"]],
  slotsSubject: [[protocol.slotsSubject("sim"), "W", "DW"]],
  SLOTS_SUBJECTS: [[protocol.SLOTS_SUBJECTS, "", "DW"]],
  JOBS_SUBJECTS: [[protocol.JOBS_SUBJECTS, "", ""]],
  readerSubject: [[protocol.readerSubject(ref, node), "D", "W"]],
  producerSubject: [[protocol.producerSubject(ref), "D", "W"]],
  readerSubjects: [[protocol.readerSubjects(ref), "", "W"]],
  READERS_SUBJECTS: [[protocol.READERS_SUBJECTS, "", "W"]],
  workerSubject: [[protocol.workerSubject(protocol.parseWorkerId("worker-1")), "WA", "W"]],
  WORKER_SUBJECTS: [[protocol.WORKER_SUBJECTS, "", "W"]],
  verdictSubject: [[protocol.verdictSubject(ref), "M", ""]],
  VERDICTS_SUBJECTS: [[protocol.VERDICTS_SUBJECTS, "", ""]],
  liveVerdictSubject: [[protocol.liveVerdictSubject(ref), "M", "D"]],
  LIVE_VERDICTS_SUBJECTS: [[protocol.LIVE_VERDICTS_SUBJECTS, "", "D"]],
  ruleSetSubject: [[protocol.ruleSetSubject(ref.tenant, "0".repeat(26)), "D", "M"]],
  RULES_SUBJECTS: [[protocol.RULES_SUBJECTS, "", "M"]],
  lateEventSubject: [[protocol.lateEventSubject(ref), "", "D"]],
  LATE_EVENT_SUBJECTS: [[protocol.LATE_EVENT_SUBJECTS, "", "D"]],
  reviewSubject: [[protocol.reviewSubject(ref, "rev_1"), "M", ""]],
  generationReviews: [[protocol.generationReviews(ref), "", ""]],
  tenantReviewSubjects: [[protocol.tenantReviewSubjects(ref.tenant), "", ""]],
  REVIEWS_SUBJECTS: [[protocol.REVIEWS_SUBJECTS, "", ""]],
  opsSubject: [
    [protocol.opsSubject("access", ref.tenant, ref.generation), "DA", ""],
    [protocol.opsSubject("delivered", ref.tenant, ref.generation), "D", ""],
    [protocol.opsSubject("attempt", ref.tenant, ref.generation), "W", ""],
    [protocol.opsSubject("timings", ref.tenant, ref.generation), "D", ""],
    [protocol.opsSubject("administration", ref.tenant), "D", ""],
    [protocol.opsSubject("blob", ref.tenant), "DW", ""],
    [protocol.opsSubject("erased", ref.tenant, ref.generation), "A", "D"],
  ],
  opsSubjects: protocol.OPS_KINDS.map((kind) => [
    protocol.opsSubjects(kind),
    "",
    kind === "erased" ? "D" : "",
  ]),
  LIVE_TENANTS_SUBJECTS: [[protocol.LIVE_TENANTS_SUBJECTS, "", "DA"]],
  TENANTS_SUBJECTS: [[protocol.TENANTS_SUBJECTS, "", ""]],
  keyUseSubject: [[protocol.keyUseSubject(ref.tenant, "key_0"), "D", ""]],
  KEY_USE_SUBJECTS: [[protocol.KEY_USE_SUBJECTS, "", ""]],
  usageSubject: [[protocol.usageSubject(ref.tenant), "Y", ""]],
  blobSubject: [[protocol.blobSubject(ref.tenant, blob), "DWA", ""]],
  uploadSubject: [[protocol.uploadSubject(ref.tenant, upload), "DWA", ""]],
  blobAccountSubject: [[protocol.blobAccountSubject(ref.tenant), "DWA", ""]],
  blobKeySubject: [[protocol.blobKeySubject(ref.tenant), "DWA", ""]],
  tenantBlobSubjects: [[protocol.tenantBlobSubjects(ref.tenant), "", ""]],
  BLOB_SWEEP_SUBJECT: [[protocol.BLOB_SWEEP_SUBJECT, "DWA", ""]],
  BLOBS_SUBJECTS: [[protocol.BLOBS_SUBJECTS, "", ""]],
  conversationSubject: [[protocol.conversationSubject(ref.tenant, conversation), "DA", ""]],
  conversationAccountSubject: [[protocol.conversationAccountSubject(ref.tenant), "DA", ""]],
  tenantConversationSubjects: [[protocol.tenantConversationSubjects(ref.tenant), "", ""]],
  CONVERSATION_SWEEP_SUBJECT: [[protocol.CONVERSATION_SWEEP_SUBJECT, "DA", ""]],
  CONVERSATIONS_SUBJECTS: [[protocol.CONVERSATIONS_SUBJECTS, "", ""]],
  threadSubject: [[protocol.threadSubject(thread, () => new Uint8Array(32)), "D", ""]],
  THREADS_SUBJECTS: [[protocol.THREADS_SUBJECTS, "", ""]],
  durableStreamSubject: [
    [protocol.durableStreamSubject({ tenant: ref.tenant, name: "n" }, () => new Uint8Array(32)), "D", ""],
  ],
  liveDurableStreamSubject: [
    [protocol.liveDurableStreamSubject({ tenant: ref.tenant, name: "n" }, () => new Uint8Array(32)), "", "D"],
  ],
  DURABLE_STREAMS_SUBJECTS: [[protocol.DURABLE_STREAMS_SUBJECTS, "", ""]],
  LIVE_DURABLE_STREAMS_SUBJECTS: [[protocol.LIVE_DURABLE_STREAMS_SUBJECTS, "", "D"]],
  chunkSubject: [[protocol.chunkSubject(ref.tenant, upload), "DW", ""]],
  BLOB_CHUNKS_SUBJECTS: [[protocol.BLOB_CHUNKS_SUBJECTS, "", ""]],
  USAGE_SUBJECTS: [[protocol.USAGE_SUBJECTS, "Y", ""]],
  ERASED_SUBJECTS: [[protocol.ERASED_SUBJECTS, "", "D"]],
  OPS_SUBJECTS: [[protocol.OPS_SUBJECTS, "", ""]],
  yieldSubject: [[protocol.yieldSubject(ref), "DWMAY", "DW"]],
  YIELD_SUBJECTS: [[protocol.YIELD_SUBJECTS, "", "DW"]],
  endSubject: [[protocol.endSubject(ref), "DW", "D"]],
  END_SUBJECTS: [[protocol.END_SUBJECTS, "", "D"]],
  analyticsCallSubject: protocol.ANALYTICS_CALLS.map((call) => [
    protocol.analyticsCallSubject(call),
    "D",
    "Y",
  ]),
  ANALYTICS_CANCEL_SUBJECT: [[protocol.ANALYTICS_CANCEL_SUBJECT, "D", "Y"]],
  auditCallSubject: protocol.AUDIT_CALLS.map((call) => [protocol.auditCallSubject(call), "D", "A"]),
  leaseSubject: [
    [protocol.leaseSubject(protocol.LEASE_GROUPS.shards, "count"), "", ""],
    [protocol.leaseSubject(protocol.LEASE_GROUPS.lanes, "OPS"), "A", ""],
    [protocol.leaseSubject(protocol.LEASE_GROUPS.maintenance, "maintenance"), "A", ""],
    [protocol.leaseSubject(protocol.LEASE_GROUPS.analytics, "GENERATIONS_0"), "Y", ""],
  ],
  memberSubject: [
    [protocol.memberSubject(protocol.LEASE_GROUPS.shards, "process"), "DWMAY", ""],
    [protocol.memberSubject(protocol.LEASE_GROUPS.lanes, "process"), "A", ""],
    [protocol.memberSubject(protocol.LEASE_GROUPS.maintenance, "process"), "A", ""],
    [protocol.memberSubject(protocol.LEASE_GROUPS.analytics, "process"), "Y", ""],
  ],
  keptSubject: [
    [protocol.keptSubject(protocol.LEASE_GROUPS.analytics, "GENERATIONS_0"), "Y", ""],
    [protocol.keptSubject(protocol.LEASE_GROUPS.lanes, "OPS"), "A", ""],
  ],
  leaseSubjects: [[protocol.leaseSubjects("*"), "", ""]],
  LEASES_SUBJECTS: [[protocol.LEASES_SUBJECTS, "", ""]],
  commitSubject: [
    [protocol.commitSubject("reprise", "log/1"), "A", ""],
    [protocol.commitSubject(protocol.ANALYTICS_COMMITS, "generations/1"), "AY", ""],
  ],
  commitSubjects: [[protocol.commitSubjects(protocol.ANALYTICS_COMMITS), "", ""]],
  COMMITS_SUBJECTS: [[protocol.COMMITS_SUBJECTS, "", ""]],
  fillerSubject: [
    [protocol.fillerSubject(protocol.shardSubjects(shard).stored), "A", ""],
    [protocol.fillerSubject(protocol.inputsStream(shard).subjects), "A", ""],
    [protocol.fillerSubject(protocol.CHECKPOINTS_SUBJECTS), "DWMA", ""],
    [protocol.fillerSubject(protocol.JOBS_SUBJECTS), "DWA", ""],
    [protocol.fillerSubject(protocol.VERDICTS_SUBJECTS), "M", ""],
    [protocol.fillerSubject(protocol.BLOBS_SUBJECTS), "DWA", ""],
    [protocol.fillerSubject(protocol.BLOB_CHUNKS_SUBJECTS), "DWA", ""],
    [protocol.fillerSubject(protocol.CONVERSATIONS_SUBJECTS), "DA", ""],
  ],
  bucketSubjects: [
    [inBucket(protocol.TENANTS_BUCKET), "D", ""],
    [inBucket(protocol.TOKEN_KEYS_BUCKET), "D", ""],
    [protocol.bucketSubjects(protocol.TENANTS_BUCKET), "", ""],
  ],
};

function inBucket(bucket: protocol.Bucket): string {
  return protocol.bucketSubjects(bucket).replace(">", "acme");
}

const INBOXES: readonly Row[] = [
  ["_INBOX_delivery.1", "", "D"],
  ["_INBOX_inference-worker.1", "W", "W"],
  ["_INBOX_moderation.1", "", "M"],
  ["_INBOX_audit-log.1", "W", "A"],
  ["_INBOX_analytics.1", "", "Y"],
  // Answers to requests of other accounts.
  ["_R_.1", "WAY", ""],
  ["_INBOX_admin.1", "", ""],
  ["_INBOX.1", "", ""],
  ["_INBOX.>", "", ""],
  [">", "", ""],
  ["*.>", "", ""],
  ["$JS.>", "", ""],
  ["$SYS.>", "", ""],
  ["$SYS.REQ.SERVER.PING", "", ""],
  ["elsewhere", "", ""],
];

const ALL = "DWMAY";
/** For each stream: who may read it from its leader, from a replica in batches, and by a subject's last message; and who may purge it. */
const STREAMS: Readonly<
  Record<
    string,
    { subject: string; leader: string; batch: string; last?: string; purge: string; info?: string }
  >
> = {
  [protocol.generationsStream(0)]: { subject: "gen.0.t.g", leader: ALL, batch: ALL, purge: "A" },
  [protocol.generationsStream(1)]: { subject: "gen.1.t.g", leader: ALL, batch: ALL, purge: "A" },
  // Of a shard that there is not.
  [protocol.generationsStream(2)]: { subject: "gen.2.t.g", leader: "", batch: "", purge: "", info: "" },
  [protocol.inputsStream(0).name]: { subject: "in.0.t.g", leader: "DWA", batch: "DWA", purge: "A" },
  [protocol.inputsStream(1).name]: { subject: "in.1.t.g", leader: "DWA", batch: "DWA", purge: "A" },
  CHECKPOINTS: { subject: "ckpt.0.t.g", leader: "DWMA", batch: "DWMA", purge: "A" },
  JOBS: { subject: "job.sim.t.g", leader: "DA", batch: "DA", purge: "A" },
  READERS: { subject: "reader.0.t.g.n", leader: "D", batch: "", purge: "A" },
  VERDICTS: { subject: "mod.0.t.g", leader: "DWMA", batch: "DWMA", purge: "A" },
  RULES: { subject: "rules.t.r", leader: "WM", batch: "", purge: "" },
  REVIEWS: { subject: "review.t.g.rev_1", leader: "DM", batch: "DM", purge: "MA" },
  LEASES: { subject: "lease.shards.count", leader: ALL, batch: "AY", last: "", purge: "" },
  COMMITS: { subject: "commit.a.k", leader: "AY", batch: "", purge: "" },
  OPS: { subject: "ops.t.access.-", leader: "AY", batch: "AY", purge: "" },
  BLOBS: { subject: "blob.t.content.b", leader: "DWA", batch: "DWA", purge: "DWA" },
  BLOB_CHUNKS: { subject: "chunk.t.u", leader: "DWA", batch: "DWA", purge: "DWA" },
  THREADS: { subject: "thread.t.x", leader: "D", batch: "D", purge: "" },
  CONVERSATIONS: { subject: "conv.t.c", leader: "DA", batch: "DA", purge: "DA" },
  DURABLE_STREAMS: { subject: "ds.t.x", leader: "D", batch: "D", purge: "D" },
  USAGE: { subject: "usage.t", leader: "", batch: "", purge: "" },
  KEY_USE: { subject: "keyuse.t.key_0", leader: "D", batch: "D", purge: "" },
  KV_TENANTS: { subject: "$KV.TENANTS.acme", leader: "DA", batch: "DA", purge: "" },
  KV_TOKEN_KEYS: { subject: "$KV.TOKEN_KEYS.k", leader: "D", batch: "", purge: "" },
};
const STREAM_CALLS_OF_ADMIN = [
  "CREATE",
  "UPDATE",
  "DELETE",
  "SNAPSHOT",
  "RESTORE",
  "LEADER.STEPDOWN",
  "PEER.REMOVE",
];

function streamRows(): Row[] {
  return Object.entries(STREAMS).flatMap(([stream, may]): Row[] => [
    [`$JS.API.STREAM.INFO.${stream}`, may.info ?? ALL, ""],
    [`$JS.API.STREAM.MSG.GET.${stream}`, may.leader, ""],
    [`$JS.API.DIRECT.GET.${stream}`, may.batch, ""],
    [`$JS.API.DIRECT.GET.${stream}.${may.subject}`, may.last ?? may.batch, ""],
    [`$JS.API.STREAM.PURGE.${stream}`, may.purge, ""],
    [`$JS.API.STREAM.MSG.DELETE.${stream}`, stream === "JOBS" ? "D" : "", ""],
    ...STREAM_CALLS_OF_ADMIN.map((call): Row => [`$JS.API.STREAM.${call}.${stream}`, "", ""]),
  ]);
}

/** By stream and consumer: its filter, and who may make it and take messages from it. */
const CONSUMERS: readonly (readonly [stream: string, consumer: string, filter: string, may: string])[] = [
  ["JOBS", "worker_sim__acme", ".job.sim.acme.*", "W"],
  ["JOBS", "batch_sim__acme", ".job.sim.acme.*.batch", "W"],
  ["GENERATIONS_0", "moderation", "", "M"],
  ["GENERATIONS_1", "moderation", "", "M"],
  ["GENERATIONS_0", "another", "", ""],
  ["GENERATIONS_2", "moderation", "", ""],
  ["VERDICTS", "moderation", "", ""],
  ["CHECKPOINTS", "worker_sim", "", ""],
  ["OPS", "audit-log", "", ""],
];

function consumerRows(): Row[] {
  return CONSUMERS.flatMap(([stream, consumer, filter, may]): Row[] => [
    [`$JS.API.CONSUMER.INFO.${stream}.${consumer}`, may, ""],
    [`$JS.API.CONSUMER.CREATE.${stream}.${consumer}${filter}`, may, ""],
    [`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, may, ""],
    [`$JS.API.CONSUMER.UNPIN.${stream}.${consumer}`, consumer === "moderation" ? may : "", ""],
    [`$JS.ACK.${stream}.${consumer}.1.7.7.0.0`, may, ""],
    [`$JS.ACK._.hash.${stream}.${consumer}.1.7.7.0.0.token`, may, ""],
    [`$JS.API.CONSUMER.CREATE.${stream}`, "", ""],
    [`$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${consumer}`, "", ""],
    [`$JS.API.CONSUMER.DELETE.${stream}.${consumer}`, stream === "JOBS" ? may : "", ""],
    [`$JS.API.CONSUMER.PAUSE.${stream}.${consumer}`, "", ""],
    [`$JS.API.CONSUMER.RESET.${stream}.${consumer}`, "", ""],
    [`$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.${consumer}`, "", ""],
    [`$JS.API.CONSUMER.NAMES.${stream}`, "", ""],
    [`$JS.API.CONSUMER.LIST.${stream}`, stream === "JOBS" ? "D" : "", ""],
  ]);
}

const BUCKET_READING: readonly Row[] = [
  ["KV_TENANTS", "$KV.TENANTS.>"],
  ["KV_TOKEN_KEYS", "$KV.TOKEN_KEYS.>"],
].flatMap(([stream, subjects]): Row[] => [
  [`$JS.API.CONSUMER.CREATE.${stream}.watch_1.${subjects}`, "", ""],
  [`$JS.API.CONSUMER.INFO.${stream}.watch_1`, "", ""],
  [`$JS.API.CONSUMER.DELETE.${stream}.watch_1`, "", ""],
  [`$JS.FC.${stream}.watch_1.1`, "", ""],
  [`$JS.API.CONSUMER.MSG.NEXT.${stream}.watch_1`, "", ""],
]);

const OTHER_CALLS: readonly Row[] = [
  ["$JS.API.INFO", ALL, ""],
  ["$JS.API.STREAM.NAMES", "", ""],
  ["$JS.API.STREAM.LIST", "", ""],
  ["$JS.API.META.LEADER.STEPDOWN", "", ""],
  ["$JS.API.SERVER.REMOVE", "", ""],
  ["$JS.API.ACCOUNT.PURGE.REPRISE", "", ""],
];

const ROWS: readonly Row[] = [
  ...Object.values(SUBJECTS).flat(),
  ...INBOXES,
  ...streamRows(),
  ...consumerRows(),
  ...BUCKET_READING,
  ...OTHER_CALLS,
];

const stack = new AsyncDisposableStack();
let server: TestBroker;
beforeAll(async () => {
  server = stack.use(
    await startTestBroker({ extraConfig: { accounts: accountsOf(LOGINS, { shards: SHARDS }) } }),
  );
});
afterAll(() => stack.disposeAsync());

/** The subjects of the rows that the server refuses to a user. A publish has no content: what is allowed changes nothing. */
async function findRefused(
  user: BrokerUser,
  rows: readonly Row[],
  operation: Forbidden["operation"],
): Promise<Set<string>> {
  await using broker = await connectBroker({
    url: server.url,
    access: { user, password: user },
    user,
    name: user,
  });
  const refused = new Set<string>();
  broker.onForbidden((forbidden) => {
    if (forbidden.operation === operation) refused.add(forbidden.subject);
  });
  for (const [subject] of rows)
    if (operation === "publish") broker.main.publish(subject);
    else broker.main.subscribe(subject, { callback: () => {} });
  await flushConnection(broker.main);
  // The client tells of what it has read in later turns of the event loop.
  await setImmediate();
  return refused;
}

/** Where the server does not do what is expected. */
function judge(
  rows: readonly Row[],
  refused: ReadonlySet<string>,
  isExpected: (row: Row) => boolean,
): string[] {
  return rows
    .filter((row) => refused.has(row[0]) === isExpected(row))
    .map(([subject]) => `${subject} is ${refused.has(subject) ? "refused" : "allowed"}`);
}

/** A subject with a wildcard selects; what is published to it is stored under no subject that is read. */
const ADDRESSES = ROWS.filter(([subject]) => subject.startsWith("$JS.") || !/[*>]/.test(subject));

describe.each(SERVICE_USERS)("%s", (user) => {
  test("may publish, and call of JetStream's API, what it needs and nothing else", async () => {
    const refused = await findRefused(user, ADDRESSES, "publish");
    expect(judge(ADDRESSES, refused, ([, may]) => may.includes(LETTERS[user]))).toEqual([]);
  });

  test("may subscribe to what it needs and nothing else", async () => {
    const refused = await findRefused(user, ROWS, "subscription");
    expect(judge(ROWS, refused, ([, , may]) => may.includes(LETTERS[user]))).toEqual([]);
  });
});

test("admin may do everything but say what is stored", async () => {
  const live = [protocol.liveSubject(ref), protocol.shardSubjects(0).live];
  // What would end the test's server or its streams is left out.
  const rows = Object.values(SUBJECTS).flat();
  const refused = await findRefused("admin", rows, "publish");
  expect([...refused].toSorted()).toEqual(
    rows
      .map(([subject]) => subject)
      .filter((subject) => /^live\.(gen|in|ds)\./.test(subject) || live.includes(subject))
      .toSorted(),
  );
  expect(await findRefused("admin", ROWS, "subscription")).toEqual(new Set());
});

const NOT_A_SUBJECT = /^(parse|is)|_STREAM$|_BUCKET$|_QUEUE$/;
const SUBJECT = /subject|^generationJobs$|^generationReviews$|^jobLane$|^modelJobs$|^queuedJobs$/i;

test("every subject that protocol builds is in the table", () => {
  const built = Object.keys(protocol).filter((name) => SUBJECT.test(name) && !NOT_A_SUBJECT.test(name));
  expect(built.toSorted()).toEqual(Object.keys(SUBJECTS).toSorted());
});

test("every stream that protocol names is in the table", () => {
  const named = Object.entries(protocol).flatMap(([name, value]) =>
    name.endsWith("_STREAM") ? [value] : [],
  );
  const buckets = ([protocol.TENANTS_BUCKET, protocol.TOKEN_KEYS_BUCKET] as const).map((bucket) =>
    protocol.bucketStream(bucket),
  );
  const logs = [0, 1, 2].map((one) => protocol.generationsStream(one));
  const inputs = [0, 1].map((one) => protocol.inputsStream(one).name);
  expect(new Set(Object.keys(STREAMS))).toEqual(new Set([...named, ...buckets, ...logs, ...inputs]));
});
