import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from "@nats-io/jetstream";
import {
  BLOB_CHUNKS_STREAM,
  BLOB_CHUNKS_SUBJECTS,
  BLOBS_STREAM,
  BLOBS_SUBJECTS,
  bucketStream,
  bucketSubjects,
  CHECKPOINTS_STREAM,
  CHECKPOINTS_SUBJECTS,
  COMMITS_STREAM,
  COMMITS_SUBJECTS,
  CONVERSATIONS_STREAM,
  CONVERSATIONS_SUBJECTS,
  DURABLE_STREAMS_STREAM,
  DURABLE_STREAMS_SUBJECTS,
  generationsStream,
  inputsStream,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  KEY_USE_STREAM,
  KEY_USE_SUBJECTS,
  LEASES_STREAM,
  LEASES_SUBJECTS,
  LIVE_DURABLE_STREAMS_SUBJECTS,
  LIVE_TENANTS_SUBJECTS,
  LIVE_VERDICTS_SUBJECTS,
  OPS_STREAM,
  OPS_SUBJECTS,
  QUEUED_SUBJECTS,
  READERS_STREAM,
  READERS_SUBJECTS,
  REVIEWS_STREAM,
  REVIEWS_SUBJECTS,
  RULES_STREAM,
  RULES_SUBJECTS,
  shardSubjects,
  TENANTS_STREAM,
  TENANTS_SUBJECTS,
  THREADS_STREAM,
  THREADS_SUBJECTS,
  TOKEN_KEYS_BUCKET,
  USAGE_STREAM,
  USAGE_SUBJECTS,
  VERDICTS_STREAM,
  VERDICTS_SUBJECTS,
} from "@reprise/protocol";

export interface TopologyOptions {
  /** Number of streams that the logs are spread over, 1 to 1,000. May grow; must not shrink while logs are kept. */
  shards: number;
  /** Copies of every stream: 1 for a single server, 3 or 5 in a cluster. */
  replicas: number;
  /** Milliseconds for which logs and checkpoints are kept, and then the marker that one existed: at least a second. */
  retentionMs: number;
}

const MS = 1_000_000;
/** Key-value buckets, as their client would make them. */
const BUCKETS = [TOKEN_KEYS_BUCKET] as const;
/** The largest record of a tenant, with its headers. */
const MAX_TENANT_BYTES = 1_114_112;
const KEY_USE_DAYS = 400;
/** For meters that are away for a while; what analytics has told is in its rows too. */
const USAGE_DAYS = 7;
/** Longer than a process takes to tell again what it has told before it died. */
const USAGE_REPEATS_MS = 600_000;

export type Config = Partial<StreamConfig> &
  Pick<StreamConfig, "name" | "subjects" | "num_replicas" | "max_age">;

/** Everything that the broker holds, and how. */
export function streamConfigs({ shards, replicas, retentionMs }: TopologyOptions): Config[] {
  const kept = {
    storage: StorageType.File,
    num_replicas: replicas,
    max_age: retentionMs * MS,
    discard: DiscardPolicy.Old,
  };
  const lastValues = {
    ...kept,
    retention: RetentionPolicy.Limits,
    max_msgs_per_subject: 1,
    allow_direct: true,
    duplicate_window: 1_000 * MS,
  };
  const repeatsNs = Math.min(120_000, retentionMs) * MS;
  const logs = Array.from({ length: shards }, (_, shard): Config => {
    const { stored, live } = shardSubjects(shard);
    return {
      ...kept,
      name: generationsStream(shard),
      subjects: [stored],
      retention: RetentionPolicy.Limits,
      allow_direct: true,
      deny_delete: true,
      republish: { src: stored, dest: live },
      // Compare-and-set makes message ids unnecessary; the server's memory for them is not.
      duplicate_window: 1_000 * MS,
    };
  });
  const inputs = Array.from({ length: shards }, (_, shard): Config => {
    const { name, subjects, live } = inputsStream(shard);
    return {
      ...kept,
      name,
      subjects: [subjects],
      retention: RetentionPolicy.Limits,
      allow_direct: true,
      deny_delete: true,
      republish: { src: subjects, dest: live },
      duplicate_window: 1_000 * MS,
    };
  });
  return [
    ...logs,
    ...inputs,
    {
      ...kept,
      name: OPS_STREAM,
      subjects: [OPS_SUBJECTS],
      retention: RetentionPolicy.Limits,
      allow_direct: true,
      deny_delete: true,
      // For longer than a record is published again whose answer was lost.
      duplicate_window: repeatsNs,
    },
    {
      ...lastValues,
      name: CHECKPOINTS_STREAM,
      subjects: [CHECKPOINTS_SUBJECTS],
      // What tells a generation that has expired from one that never was: the broker leaves an empty message in place of a
      // checkpoint that has expired. The broker counts in seconds, and lets no marker outlive `max_age`.
      subject_delete_marker_ttl: Math.max(1, Math.floor(retentionMs / 1_000)) * 1_000 * MS,
    },
    {
      // In a file and kept as long as the logs: after the loss of it no process would know which generations have readers.
      ...lastValues,
      name: READERS_STREAM,
      subjects: [READERS_SUBJECTS],
    },
    {
      ...lastValues,
      name: VERDICTS_STREAM,
      subjects: [VERDICTS_SUBJECTS],
      republish: { src: VERDICTS_SUBJECTS, dest: LIVE_VERDICTS_SUBJECTS },
    },
    // Kept for longer than any log that names them: a create stores them again before half of this is over.
    { ...lastValues, name: RULES_STREAM, subjects: [RULES_SUBJECTS], max_age: 3 * retentionMs * MS },
    // The first claim to a commit counts: a later message that a service has the broker store must not replace it.
    { ...lastValues, name: COMMITS_STREAM, subjects: [COMMITS_SUBJECTS], max_msgs_per_subject: -1 },
    // The number of shards is kept for ever: see `shard-count.ts`.
    { ...lastValues, name: LEASES_STREAM, subjects: [LEASES_SUBJECTS], allow_msg_ttl: true },
    { ...lastValues, name: REVIEWS_STREAM, subjects: [REVIEWS_SUBJECTS] },
    {
      // A KV bucket, kept for ever. One version of each record: readers count the messages to notice that one is gone.
      ...lastValues,
      name: TENANTS_STREAM,
      subjects: [TENANTS_SUBJECTS],
      max_age: 0,
      max_msg_size: MAX_TENANT_BYTES,
      discard: DiscardPolicy.New,
      allow_rollup_hdrs: true,
      deny_delete: true,
      republish: { src: TENANTS_SUBJECTS, dest: LIVE_TENANTS_SUBJECTS, headers_only: true },
    },
    // Each row contains its own expiry. A backup copies rows after the logs: the turn that a row names last has its log, or none.
    { ...lastValues, name: CONVERSATIONS_STREAM, subjects: [CONVERSATIONS_SUBJECTS], max_age: 0 },
    // As long as the logs: a row names a generation. Those that need not last as long say so themselves.
    { ...lastValues, name: THREADS_STREAM, subjects: [THREADS_SUBJECTS], allow_msg_ttl: true },
    {
      ...kept,
      name: DURABLE_STREAMS_STREAM,
      subjects: [DURABLE_STREAMS_SUBJECTS],
      retention: RetentionPolicy.Limits,
      allow_direct: true,
      deny_delete: true,
      republish: { src: DURABLE_STREAMS_SUBJECTS, dest: LIVE_DURABLE_STREAMS_SUBJECTS },
      duplicate_window: 1_000 * MS,
    },
    // Rows say themselves until when they count. A backup copies them before the chunks: a chunk without a row is swept.
    { ...lastValues, name: BLOBS_STREAM, subjects: [BLOBS_SUBJECTS], max_age: 0 },
    {
      ...kept,
      name: BLOB_CHUNKS_STREAM,
      subjects: [BLOB_CHUNKS_SUBJECTS],
      retention: RetentionPolicy.Limits,
      max_age: 0,
      allow_direct: true,
      duplicate_window: 1_000 * MS,
    },
    {
      ...lastValues,
      name: KEY_USE_STREAM,
      subjects: [KEY_USE_SUBJECTS],
      max_age: KEY_USE_DAYS * 86_400_000 * MS,
    },
    {
      ...kept,
      name: USAGE_STREAM,
      subjects: [USAGE_SUBJECTS],
      retention: RetentionPolicy.Limits,
      max_age: USAGE_DAYS * 86_400_000 * MS,
      allow_direct: true,
      deny_delete: true,
      duplicate_window: USAGE_REPEATS_MS * MS,
    },
    {
      ...kept,
      name: JOBS_STREAM,
      subjects: [JOBS_SUBJECTS],
      retention: RetentionPolicy.Workqueue,
      allow_direct: true,
      // Tells workers which tenants have jobs, the moment they are stored.
      republish: { src: JOBS_SUBJECTS, dest: QUEUED_SUBJECTS, headers_only: true },
      // One consumer per model and tenant with jobs; since 2.15 the server allows 1,000 unless told otherwise.
      max_consumers: 10_000,
      duplicate_window: repeatsNs,
    },
    ...BUCKETS.map((bucket): Config => ({
      name: bucketStream(bucket),
      subjects: [bucketSubjects(bucket)],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      num_replicas: replicas,
      max_age: 0,
      max_msgs_per_subject: 1,
      discard: DiscardPolicy.New,
      allow_direct: true,
      allow_rollup_hdrs: true,
      deny_delete: true,
    })),
  ];
}
