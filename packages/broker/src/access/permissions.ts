import {
  BLOB_CHUNKS_STREAM,
  BLOB_CHUNKS_SUBJECTS,
  BLOBS_STREAM,
  BLOBS_SUBJECTS,
  ANALYTICS_CALLS,
  ANALYTICS_COMMITS,
  ANALYTICS_CANCEL_SUBJECT,
  analyticsCallSubject,
  auditCallSubject,
  commitSubjects,
  bucketStream,
  bucketSubjects,
  TOKEN_KEYS_BUCKET,
  TENANTS_BUCKET,
  THREADS_STREAM,
  THREADS_SUBJECTS,
  AUDIT_CALLS,
  CHECKPOINTS_STREAM,
  CHECKPOINTS_SUBJECTS,
  COMMITS_STREAM,
  CONVERSATIONS_STREAM,
  CONVERSATIONS_SUBJECTS,
  DURABLE_STREAMS_STREAM,
  DURABLE_STREAMS_SUBJECTS,
  USAGE_STREAM,
  USAGE_SUBJECTS,
  COMMITS_SUBJECTS,
  END_SUBJECTS,
  ERASED_SUBJECTS,
  fillerSubject,
  generationsStream,
  JOBS_STREAM,
  KEY_USE_STREAM,
  KEY_USE_SUBJECTS,
  LIVE_TENANTS_SUBJECTS,
  JOBS_SUBJECTS,
  LATE_EVENT_SUBJECTS,
  LEASE_GROUPS,
  leaseSubjects,
  LEASES_STREAM,
  INPUT_SUBJECTS,
  inputsStream,
  LIVE_DURABLE_STREAMS_SUBJECTS,
  LIVE_INPUT_SUBJECTS,
  LIVE_LOG_SUBJECTS,
  LIVE_VERDICTS_SUBJECTS,
  LOG_SUBJECTS,
  memberSubject,
  OPS_STREAM,
  OPS_SUBJECTS,
  opsSubjects,
  READERS_STREAM,
  READERS_SUBJECTS,
  REVIEWS_STREAM,
  REVIEWS_SUBJECTS,
  QUEUED_SUBJECTS,
  RULES_STREAM,
  RULES_SUBJECTS,
  SHARDS_SUBJECTS,
  SLOTS_SUBJECTS,
  shardSubjects,
  VERDICTS_STREAM,
  VERDICTS_SUBJECTS,
  WORKER_SUBJECTS,
  YIELD_SUBJECTS,
} from "@reprise/protocol";
import {
  ACCOUNT_INFO,
  ackSubjects,
  consumerCall,
  consumerCreate,
  consumerList,
  directGet,
  directGetLast,
  streamCall,
} from "./api-subject.ts";
import { type BrokerUser, inboxPrefixOf, type ServiceUser } from "./broker-user.ts";

/*
 * The subjects that each user of the broker may publish and subscribe to. Everything else is denied. A service that needs something new gets it here, and in
 * the table that `permissions.test.ts` tries against a real server.
 *
 * Subjects alone cannot keep everything apart:
 *
 * - The events of a log share its subject: moderation appends its decisions, delivery answers and ends, and the audit log ends what it erases,
 *   where the worker appends text. Each of these can append any event to a log; the compare-and-set of every append shows a
 *   writer that another one has interfered. Only a job has a generation run, and only delivery and workers create jobs.
 * - A process that ends a generation stores its checkpoint, and an erasure replaces it by a marker: so all four services write checkpoints.
 * - A batch of direct gets names its subject in the payload: a service that reads a stream reads all tenants' messages in it.
 * - The broker answers to any reply subject that a request names. Users in the streams' account, which workers are, have such an answer stored under
 *   any subject: `isPublished` tells it, and readers pass over it. Logs and checkpoints are read without that check: every service may publish there.
 *   And what the broker answers to a subject of JetStream's API it obeys itself: `reply-subject.test.ts`. The other services have accounts of their
 *   own, which end both: `accounts.ts`.
 */

export interface Permissions {
  readonly publish: { readonly allow: readonly string[]; readonly deny?: readonly string[] };
  readonly subscribe: { readonly allow: readonly string[] };
}

export interface PermissionOptions {
  /** Number of streams that the logs are spread over. The permissions cover these and no others. */
  readonly shards: number;
}

/** Name of the consumer that all replicas of moderation share, on the stream of each shard. */
export const MODERATION_CONSUMER = "moderation";

interface Stream {
  readonly name: string;
  readonly subjects: string;
}

/** Where nats-server has requests of other accounts answered: random subjects, where no user may listen. */
export const ANSWERS = "_R_.>";

const CHECKPOINTS = { name: CHECKPOINTS_STREAM, subjects: CHECKPOINTS_SUBJECTS };
const JOBS = { name: JOBS_STREAM, subjects: JOBS_SUBJECTS };
const READERS = { name: READERS_STREAM, subjects: READERS_SUBJECTS };
const VERDICTS = { name: VERDICTS_STREAM, subjects: VERDICTS_SUBJECTS };
const REVIEWS = { name: REVIEWS_STREAM, subjects: REVIEWS_SUBJECTS };
const RULES = { name: RULES_STREAM, subjects: RULES_SUBJECTS };
const OPS = { name: OPS_STREAM, subjects: OPS_SUBJECTS };
const COMMITS = { name: COMMITS_STREAM, subjects: COMMITS_SUBJECTS };
const LEASES = { name: LEASES_STREAM, subjects: leaseSubjects("*") };
const USAGE = { name: USAGE_STREAM, subjects: USAGE_SUBJECTS };
const KEY_USE = { name: KEY_USE_STREAM, subjects: KEY_USE_SUBJECTS };
const TENANTS = { name: bucketStream(TENANTS_BUCKET), subjects: bucketSubjects(TENANTS_BUCKET) };
const BLOBS = { name: BLOBS_STREAM, subjects: BLOBS_SUBJECTS };
const CONVERSATIONS = { name: CONVERSATIONS_STREAM, subjects: CONVERSATIONS_SUBJECTS };
const BLOB_CHUNKS = { name: BLOB_CHUNKS_STREAM, subjects: BLOB_CHUNKS_SUBJECTS };
const THREADS = { name: THREADS_STREAM, subjects: THREADS_SUBJECTS };
const DURABLE_STREAMS = { name: DURABLE_STREAMS_STREAM, subjects: DURABLE_STREAMS_SUBJECTS };
const NAMED = [
  BLOBS,
  BLOB_CHUNKS,
  CONVERSATIONS,
  THREADS,
  DURABLE_STREAMS,
  CHECKPOINTS,
  JOBS,
  READERS,
  VERDICTS,
  REVIEWS,
  RULES,
  OPS,
  COMMITS,
  LEASES,
  KEY_USE,
  USAGE,
];

/** @throws TypeError unless `shards` is a whole number from 1 to 1,000 */
export function permissionsOf(user: BrokerUser, { shards }: PermissionOptions): Permissions {
  const logs = Array.from({ length: shards }, (_, shard): Stream => ({
    name: generationsStream(shard),
    subjects: shardSubjects(shard).stored,
  }));
  if (user === "admin")
    // Only the server itself says what is stored.
    return {
      publish: {
        allow: [">"],
        deny: [LIVE_LOG_SUBJECTS, LIVE_INPUT_SUBJECTS, LIVE_DURABLE_STREAMS_SUBJECTS],
      },
      subscribe: { allow: [">"] },
    };
  const inputs = Array.from({ length: shards }, (_, shard) => inputsStream(shard));
  const { publish, subscribe } = SERVICES[user](logs, inputs);
  return {
    publish: { allow: [...everyService(logs, inputs), ...publish] },
    subscribe: { allow: [inbox(user), ...subscribe] },
  };
}

/** A process asks whether the streams are as it needs them, whether they have their quorum, and over how many shards logs are spread. */
function everyService(logs: readonly Stream[], inputs: readonly Stream[]): string[] {
  return [
    ACCOUNT_INFO,
    ...[...logs, ...inputs, ...NAMED].map(({ name }) => streamCall("INFO", name)),
    streamCall("INFO", bucketStream(TOKEN_KEYS_BUCKET)),
    streamCall("INFO", bucketStream(TENANTS_BUCKET)),
    memberSubject(LEASE_GROUPS.shards, "*"),
    // A process whose append meets another's asks the worker to make room.
    YIELD_SUBJECTS,
    streamCall("MSG.GET", LEASES.name),
  ];
}

type Allowed = Record<"publish" | "subscribe", readonly string[]>;

const SERVICES: Readonly<
  Record<ServiceUser, (logs: readonly Stream[], inputs: readonly Stream[]) => Allowed>
> = {
  delivery: (logs, inputs) => ({
    publish: [
      LOG_SUBJECTS,
      INPUT_SUBJECTS,
      CHECKPOINTS.subjects,
      JOBS.subjects,
      RULES.subjects,
      bucketSubjects(TENANTS_BUCKET),
      bucketSubjects(TOKEN_KEYS_BUCKET),
      ...reading(TENANTS),
      streamCall("MSG.GET", bucketStream(TOKEN_KEYS_BUCKET)),
      READERS.subjects,
      opsSubjects("access"),
      opsSubjects("delivered"),
      opsSubjects("timings"),
      opsSubjects("administration"),
      opsSubjects("blob"),
      KEY_USE.subjects,
      END_SUBJECTS,
      ...AUDIT_CALLS.map(auditCallSubject),
      ...ANALYTICS_CALLS.map(analyticsCallSubject),
      ANALYTICS_CANCEL_SUBJECT,
      ...[...logs, ...inputs, CHECKPOINTS, VERDICTS, JOBS, REVIEWS, KEY_USE].flatMap(reading),
      streamCall("MSG.GET", READERS.name),
      streamCall("MSG.DELETE", JOBS.name),
      BLOBS.subjects,
      BLOB_CHUNKS.subjects,
      CONVERSATIONS.subjects,
      THREADS.subjects,
      DURABLE_STREAMS.subjects,
      ...[BLOBS, BLOB_CHUNKS, CONVERSATIONS, THREADS, DURABLE_STREAMS].flatMap(reading),
      ...[BLOBS, BLOB_CHUNKS, CONVERSATIONS, DURABLE_STREAMS].map(({ name }) => streamCall("PURGE", name)),
      // The number of waiting jobs, for a scaler.
      consumerList(JOBS.name),
    ],
    subscribe: [
      LIVE_LOG_SUBJECTS,
      LIVE_DURABLE_STREAMS_SUBJECTS,
      LIVE_TENANTS_SUBJECTS,
      LIVE_VERDICTS_SUBJECTS,
      LATE_EVENT_SUBJECTS,
      ERASED_SUBJECTS,
      END_SUBJECTS,
      SLOTS_SUBJECTS,
      // It writes for producers as a worker does for its engine.
      YIELD_SUBJECTS,
    ],
  }),

  "inference-worker": (logs, inputs) => ({
    publish: [
      LOG_SUBJECTS,
      CHECKPOINTS.subjects,
      // A generation that continues with another model is queued for that model.
      JOBS.subjects,
      WORKER_SUBJECTS,
      END_SUBJECTS,
      opsSubjects("attempt"),
      // Of what a model makes.
      opsSubjects("blob"),
      // Workers share the slots of a model, and tell each other of jobs that they give back.
      SLOTS_SUBJECTS,
      QUEUED_SUBJECTS,
      inbox("inference-worker"),
      // An erasure asks from another account, or as `admin` from this one.
      ANSWERS,
      inbox("audit-log"),
      ...[...logs, ...inputs, CHECKPOINTS].flatMap(reading),
      // By which streamed input is judged.
      streamCall("MSG.GET", RULES.name),
      // How much of an earlier turn readers may have: no more of it goes to a model.
      ...reading(VERDICTS),
      // What requests name, and what models make.
      BLOBS.subjects,
      BLOB_CHUNKS.subjects,
      ...[BLOBS, BLOB_CHUNKS].flatMap(reading),
      ...[BLOBS, BLOB_CHUNKS].map(({ name }) => streamCall("PURGE", name)),
      consumerCall("INFO", JOBS.name, "*"),
      consumerCreate(JOBS.name, "*", JOBS.subjects),
      // That of workers without lanes.
      consumerCall("DELETE", JOBS.name, "*"),
      consumerCall("MSG.NEXT", JOBS.name, "*"),
      ...ackSubjects(JOBS.name, "*"),
    ],
    subscribe: [
      WORKER_SUBJECTS,
      YIELD_SUBJECTS,
      LIVE_LOG_SUBJECTS,
      LIVE_INPUT_SUBJECTS,
      READERS.subjects,
      QUEUED_SUBJECTS,
      SLOTS_SUBJECTS,
    ],
  }),

  moderation: (logs) => ({
    publish: [
      LOG_SUBJECTS,
      CHECKPOINTS.subjects,
      VERDICTS.subjects,
      LIVE_VERDICTS_SUBJECTS,
      REVIEWS.subjects,
      ...[...logs, CHECKPOINTS, VERDICTS, REVIEWS].flatMap(reading),
      streamCall("MSG.GET", RULES.name),
      streamCall("PURGE", REVIEWS.name),
      ...logs.flatMap(({ name }) => [
        consumerCall("INFO", name, MODERATION_CONSUMER),
        consumerCreate(name, MODERATION_CONSUMER),
        consumerCall("MSG.NEXT", name, MODERATION_CONSUMER),
        consumerCall("UNPIN", name, MODERATION_CONSUMER),
        ...ackSubjects(name, MODERATION_CONSUMER),
      ]),
    ],
    subscribe: [RULES.subjects],
  }),

  "audit-log": (logs, inputs) => ({
    publish: [
      leaseSubjects(LEASE_GROUPS.lanes),
      leaseSubjects(LEASE_GROUPS.maintenance),
      COMMITS.subjects,
      opsSubjects("access"),
      ANSWERS,
      directGet(LEASES.name),
      streamCall("MSG.GET", COMMITS.name),
      ...[...logs, ...inputs, VERDICTS, OPS, TENANTS].flatMap(reading),
      ...erasing(logs, inputs),
    ],
    subscribe: [...AUDIT_CALLS.map(auditCallSubject), LIVE_TENANTS_SUBJECTS],
  }),

  analytics: (logs) => ({
    publish: [
      leaseSubjects(LEASE_GROUPS.analytics),
      commitSubjects(ANALYTICS_COMMITS),
      USAGE.subjects,
      ANSWERS,
      directGet(LEASES.name),
      streamCall("MSG.GET", COMMITS.name),
      ...[...logs, OPS].flatMap(reading),
    ],
    subscribe: [...ANALYTICS_CALLS.map(analyticsCallSubject), ANALYTICS_CANCEL_SUBJECT],
  }),
};

/** An erasure ends a generation and closes its log, asks its worker to let go, puts markers in place of checkpoints, and purges. */
function erasing(logs: readonly Stream[], inputs: readonly Stream[]): string[] {
  return [
    LOG_SUBJECTS,
    CHECKPOINTS.subjects,
    fillerSubject(SHARDS_SUBJECTS),
    ...inputs.map(({ subjects }) => fillerSubject(subjects)),
    fillerSubject(JOBS.subjects),
    opsSubjects("erased"),
    WORKER_SUBJECTS,
    // Puts rows of removed blobs in the place of theirs.
    BLOBS.subjects,
    fillerSubject(BLOB_CHUNKS.subjects),
    // Puts rows of deleted conversations in the place of a subject's, and takes them away last.
    CONVERSATIONS.subjects,
    ...[CHECKPOINTS, JOBS, BLOBS, BLOB_CHUNKS, CONVERSATIONS].flatMap(reading),
    ...[
      ...logs,
      ...inputs,
      CHECKPOINTS,
      JOBS,
      VERDICTS,
      READERS,
      REVIEWS,
      BLOBS,
      BLOB_CHUNKS,
      CONVERSATIONS,
    ].map(({ name }) => streamCall("PURGE", name)),
  ];
}

function reading({ name, subjects }: Stream): string[] {
  return [directGet(name), directGetLast(name, subjects), streamCall("MSG.GET", name)];
}

/** Where a user hears answers. */
export function inbox(user: BrokerUser): string {
  return `${inboxPrefixOf(user)}.>`;
}
