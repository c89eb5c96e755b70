import type { Seq } from "../seq.ts";
import {
  assertShard,
  type GenerationId,
  type GenerationRef,
  isGenerationId,
  isNodeId,
  isTenantId,
  isToken,
  type NodeId,
  shardOf,
  type TenantId,
  type WorkerId,
} from "../id.ts";
import type { AnalyticsCall } from "./analytics-call.ts";
import type { AuditCall } from "./audit-call.ts";
import type { OpsKind } from "./ops-record.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/*
 * With `job-subject.ts` the only place that builds or takes apart NATS subjects and stream names. Everything that varies comes in as a branded
 * id or goes through an encoder, so no caller can put a dot, a blank or a wildcard into a subject.
 */

export const CHECKPOINTS_STREAM = "CHECKPOINTS";
export const READERS_STREAM = "READERS";
export const VERDICTS_STREAM = "VERDICTS";
export const RULES_STREAM = "RULES";
export const REVIEWS_STREAM = "REVIEWS";
/** Leases of work that several processes share. */
export const LEASES_STREAM = "LEASES";
export const LEASES_SUBJECTS = "lease.>";
/** Groups of leases and announcements that processes share: the number of shards, the streams to archive and to measure, the archive's upkeep. */
export const LEASE_GROUPS = {
  shards: "shards",
  lanes: "audit-log",
  maintenance: "audit-maintenance",
  analytics: "analytics",
} as const;
/** Which commit of an archive was first, for stores that can't tell. */
export const COMMITS_STREAM = "COMMITS";
export const COMMITS_SUBJECTS = "commit.>";
/** In the place of an archive's name, which has no underscore: the commits of analytics. */
export const ANALYTICS_COMMITS = "_analytics";
export const OPS_STREAM = "OPS";
export const OPS_SUBJECTS = "ops.>";
export const RULES_SUBJECTS = "rules.>";
export const REVIEWS_SUBJECTS = "review.>";
export const VERDICTS_SUBJECTS = "mod.>";
/** Where VERDICTS republishes what it stores; verdicts that are not worth storing go there directly. */
export const LIVE_VERDICTS_SUBJECTS = "live.mod.>";
export const READERS_SUBJECTS = "reader.>";
export const CHECKPOINTS_SUBJECTS = "ckpt.>";

/** Key-value bucket of tenants, their keys and their policies. */
export const TENANTS_BUCKET = "TENANTS";
/** Key-value bucket of the keys that the platform signs stream tokens with. */
export const TOKEN_KEYS_BUCKET = "TOKEN_KEYS";
export type Bucket = typeof TENANTS_BUCKET | typeof TOKEN_KEYS_BUCKET;

/** Where each tenant's record is, under its id. */
export const TENANTS_STREAM = `KV_${TENANTS_BUCKET}`;
export const TENANTS_SUBJECTS = `$KV.${TENANTS_BUCKET}.>`;
/** Where the bucket says that it has stored a record, without what that is. */
export const LIVE_TENANTS_SUBJECTS = "live.tenants.>";
/** When each API key was used last. */
export const KEY_USE_STREAM = "KEY_USE";
export const KEY_USE_SUBJECTS = "keyuse.>";
/** Usage of generations, as CloudEvents: for meters. */
export const USAGE_STREAM = "USAGE";
export const USAGE_SUBJECTS = "usage.*";

/** The stream that holds a bucket. */
export function bucketStream(bucket: Bucket): string {
  return `KV_${bucket}`;
}

/** Where a bucket's values are put and its changes are told. */
export function bucketSubjects(bucket: Bucket): string {
  return `$KV.${bucket}.>`;
}

/**
 * The stream that holds a shard's logs.
 * @throws TypeError unless `shard` is a whole number from 0 to 999
 */
export function generationsStream(shard: number): string {
  assertShard(shard);
  return `GENERATIONS_${shard}`;
}

/** The stream that holds this generation's log. */
export function streamOf(generation: GenerationId): string {
  return generationsStream(shardOf(generation));
}

/**
 * Returns the subjects that a shard's stream stores, and those that it republishes to.
 * @throws TypeError unless `shard` is a whole number from 0 to 999
 */
export function shardSubjects(shard: number): { stored: string; live: string } {
  assertShard(shard);
  return { stored: `gen.${shard}.>`, live: `live.gen.${shard}.>` };
}

/**
 * The stream that holds a shard's input logs, and its subjects: apart from the output, whose followers need not read past sound.
 * @throws TypeError unless `shard` is a whole number from 0 to 999
 */
export function inputsStream(shard: number): { name: string; subjects: string; live: string } {
  assertShard(shard);
  return { name: `INPUTS_${shard}`, subjects: `in.${shard}.>`, live: `live.in.${shard}.>` };
}

/** The stream that holds this generation's input. */
export function inputStreamOf(generation: GenerationId): string {
  return inputsStream(shardOf(generation)).name;
}

/** Subjects of the generations' input logs. */
export const INPUT_SUBJECTS = "in.*.*.*";
/** Where the broker republishes them. */
export const LIVE_INPUT_SUBJECTS = "live.in.>";

/** Subjects that the streams of all shards store. */
export const SHARDS_SUBJECTS = "gen.*.>";
/** Subjects of the generations' logs among these. */
export const LOG_SUBJECTS = "gen.*.*.*";
/** Where the broker republishes it. */
export const LIVE_LOG_SUBJECTS = "live.gen.>";
/** The tenant whose record is under this subject; undefined for what can't be one's. */
export function parseTenantSubject(subject: string): TenantId | undefined {
  const prefix = TENANTS_SUBJECTS.slice(0, -1);
  const tenant = subject.slice(prefix.length);
  return subject.startsWith(prefix) && isTenantId(tenant) ? tenant : undefined;
}

/**
 * Where the last use of an API key is kept; without a key: of all keys of the tenant.
 * @throws RepriseError `invalid_request` when the key's id has other characters than ids have
 */
export function keyUseSubject(tenant: TenantId, key?: string): string {
  if (key !== undefined && !isToken(key))
    throw new RepriseError("invalid_request", "This is no id of a key.");
  return `keyuse.${tenant}.${key ?? "*"}`;
}

/** The id of the key whose last use is kept under this subject. */
export function parseKeyUseSubject(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}

/** Where a generation's events are appended. */
export function logSubject({ tenant, generation }: GenerationRef): string {
  return `gen.${shardOf(generation)}.${tenant}.${generation}`;
}

/**
 * Where a tenant's events of one shard are.
 * @throws TypeError unless `shard` is a whole number from 0 to 999
 */
export function tenantLogSubjects(shard: number, tenant: TenantId): string {
  assertShard(shard);
  return `gen.${shard}.${tenant}.>`;
}

/** Where the broker republishes a generation's events once they are stored. */
export function liveSubject(ref: GenerationRef): string {
  return `live.${logSubject(ref)}`;
}

/** Where a generation's input is appended. */
export function inputSubject({ tenant, generation }: GenerationRef): string {
  return `in.${shardOf(generation)}.${tenant}.${generation}`;
}

/** Where the broker republishes a generation's input once it is stored. */
export function liveInputSubject(ref: GenerationRef): string {
  return `live.${inputSubject(ref)}`;
}

export function checkpointSubject({ tenant, generation }: GenerationRef): string {
  return `ckpt.${shardOf(generation)}.${tenant}.${generation}`;
}

/** Where one node says how many readers it has for a generation, and how far they have come. */
export function readerSubject({ tenant, generation }: GenerationRef, node: NodeId): string {
  return `reader.${shardOf(generation)}.${tenant}.${generation}.${node}`;
}

/** Where nodes say that they have heard from a generation's producer. Not among `readerSubjects`. */
export function producerSubject({ tenant, generation }: GenerationRef): string {
  return `reader.${shardOf(generation)}.${tenant}.${generation}.producer.heard`;
}

/** Returns the subjects on which all nodes report a generation's readers. */
export function readerSubjects({ tenant, generation }: GenerationRef): string {
  return `reader.${shardOf(generation)}.${tenant}.${generation}.*`;
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `readerSubject` makes */
export function parseReaderSubject(subject: string): GenerationRef & { node: NodeId } {
  const [kind, shard, tenant, generation, node, ...rest] = subject.split(".");
  if (
    kind !== "reader" ||
    !isTenantId(tenant) ||
    !isGenerationId(generation) ||
    shard !== `${shardOf(generation)}` ||
    !isNodeId(node) ||
    rest.length > 0
  ) {
    throw new RepriseError("protocol_violation", `"${subject}" is not a subject about readers.`);
  }
  return { tenant, generation, node };
}

/** Where a worker answers whether it runs a generation. */
export function workerSubject(worker: WorkerId): string {
  return `worker.${worker}`;
}

/** All workers' such subjects. */
export const WORKER_SUBJECTS = "worker.*";

/** Where moderation says what it has judged of a generation. */
export function verdictSubject({ tenant, generation }: GenerationRef): string {
  return `mod.${shardOf(generation)}.${tenant}.${generation}`;
}

export function liveVerdictSubject(ref: GenerationRef): string {
  return `live.${verdictSubject(ref)}`;
}

/**
 * Where a set of rules is kept.
 * @throws TypeError unless `id` is one that `ruleSetId` has made
 */
export function ruleSetSubject(tenant: TenantId, id: string): string {
  if (!/^[0-9a-f]{26}$/.test(id)) throw new TypeError(`"${id}" does not name a set of rules`);
  return `rules.${tenant}.${id}`;
}

/** Returns the subject that tells nodes of an event appended after the end of a log, which they may no longer follow. */
export function lateEventSubject({ tenant, generation }: GenerationRef): string {
  return `late.${shardOf(generation)}.${tenant}.${generation}`;
}

export const LATE_EVENT_SUBJECTS = "late.*.*.*";

/** @throws RepriseError `protocol_violation` when the subject is not one that `lateEventSubject` makes */
export function parseLateEventSubject(subject: string): GenerationRef {
  return parseShardSubject(subject, "late", "a late event's subject");
}

/** Where the writer of a log is asked to pause for a moment, so that another process can append. */
export function yieldSubject({ tenant, generation }: GenerationRef): string {
  return `yield.${shardOf(generation)}.${tenant}.${generation}`;
}

export const YIELD_SUBJECTS = "yield.*.*.*";

/** @throws RepriseError `protocol_violation` when the subject is not one that `yieldSubject` makes */
export function parseYieldSubject(subject: string): GenerationRef {
  return parseShardSubject(subject, "yield", "a subject to ask for a log");
}

/** Where nodes hear that a generation has ended. */
export function endSubject({ tenant, generation }: GenerationRef): string {
  return `end.${shardOf(generation)}.${tenant}.${generation}`;
}

export const END_SUBJECTS = "end.*.*.*";

/** @throws RepriseError `protocol_violation` when the subject is not one that `endSubject` makes */
export function parseEndSubject(subject: string): GenerationRef {
  return parseShardSubject(subject, "end", "an end's subject");
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `logSubject` makes */
export function parseLogSubject(subject: string): GenerationRef {
  return parseShardSubject(subject, "gen", "a log's subject");
}

/** @throws RepriseError `protocol_violation` */
export function parseInputSubject(subject: string): GenerationRef {
  return parseShardSubject(subject, "in", "an input log's subject");
}

const REVIEW_ID = /^rev_[0-9]{1,9}$/;

/** A review's id is of its generation alone: the event that asks for it has this seq. */
export function reviewIdOf(seq: Seq): string {
  return `rev_${seq}`;
}

/**
 * Where a review that waits for its answer is listed.
 * @throws RepriseError `review_not_found` unless `reviewId` is one that `reviewIdOf` makes
 */
export function reviewSubject({ tenant, generation }: GenerationRef, reviewId: string): string {
  if (!REVIEW_ID.test(reviewId))
    throw new RepriseError("review_not_found", "There is no review with this id.");
  return `review.${tenant}.${generation}.${reviewId}`;
}

/** All reviews of a generation. */
export function generationReviews({ tenant, generation }: GenerationRef): string {
  return `review.${tenant}.${generation}.*`;
}

export function tenantReviewSubjects(tenant: TenantId): string {
  return `review.${tenant}.>`;
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `reviewSubject` makes */
export function parseReviewSubject(subject: string): { ref: GenerationRef; reviewId: string } {
  const [kind, tenant, generation, reviewId, ...rest] = subject.split(".");
  if (
    kind !== "review" ||
    !isTenantId(tenant) ||
    !isGenerationId(generation) ||
    reviewId === undefined ||
    !REVIEW_ID.test(reviewId) ||
    rest.length > 0
  ) {
    throw new RepriseError("protocol_violation", `"${subject}" is not a review's subject.`);
  }
  return { ref: { tenant, generation }, reviewId };
}

/** In place of a generation where a record is of none. */
const NO_GENERATION = "-";

/** Where something is recorded that no model has said, of a generation or of the tenant alone. */
export function opsSubject(kind: OpsKind, tenant: TenantId, generation?: GenerationId): string {
  return `ops.${tenant}.${kind}.${generation ?? NO_GENERATION}`;
}

/** Where a tenant's usage is told. */
export function usageSubject(tenant: TenantId): string {
  return `usage.${tenant}`;
}

/** All records of a kind. */
export function opsSubjects(kind: OpsKind): string {
  return `ops.*.${kind}.*`;
}

/** Where every node hears of erased generations. */
export const ERASED_SUBJECTS = opsSubjects("erased");

/** Syntax of kinds, those of later versions too. */
const OPS_KIND = /^[a-z][a-z_]{0,31}$/;

/**
 * A kind that this version does not know is one of a later version, so that an archive keeps its records.
 * @throws RepriseError `protocol_violation` when the subject is not one that `opsSubject` makes
 */
export function parseOpsSubject(subject: string): {
  tenant: TenantId;
  kind: OpsKind | (string & {});
  generation: GenerationId | undefined;
} {
  const [first, tenant, kind = "", generation, ...rest] = subject.split(".");
  if (
    first !== "ops" ||
    !isTenantId(tenant) ||
    !OPS_KIND.test(kind) ||
    (generation !== NO_GENERATION && !isGenerationId(generation)) ||
    rest.length > 0
  ) {
    throw new RepriseError("protocol_violation", `"${subject}" is not a subject of OPS.`);
  }
  return { tenant, kind, generation: generation === NO_GENERATION ? undefined : generation };
}

/** @throws RepriseError `protocol_violation` when the subject is not one that `verdictSubject` makes */
export function parseVerdictSubject(subject: string): GenerationRef {
  return parseShardSubject(subject, "mod", "a verdict's subject");
}

function parseShardSubject(subject: string, first: string, what: string): GenerationRef {
  const [kind, shard, tenant, generation, ...rest] = subject.split(".");
  if (
    kind !== first ||
    !isTenantId(tenant) ||
    !isGenerationId(generation) ||
    shard !== `${shardOf(generation)}` ||
    rest.length > 0
  ) {
    throw new RepriseError("protocol_violation", `"${subject}" is not ${what}.`);
  }
  return { tenant, generation };
}

/** Where the audit log is asked. */
export function auditCallSubject(call: AuditCall): string {
  return `audit.${call}`;
}

/** Where analytics is asked. */
export function analyticsCallSubject(call: AnalyticsCall): string {
  return `analytics.${call}`;
}

const COMMIT_TOKEN = /[^A-Za-z0-9-]+/g;

/** All commits of an archive. */
export function commitSubjects(archive: string): string {
  return `commit.${archive.replaceAll(COMMIT_TOKEN, "_")}.>`;
}

/** Where a commit of an archive is claimed. @param key of the object, which is unlike any other's with its runs of marks made one */
export function commitSubject(archive: string, key: string): string {
  return `commit.${archive.replaceAll(COMMIT_TOKEN, "_")}.${key.replaceAll(COMMIT_TOKEN, "_")}`;
}

const FILLER = "filler";

/**
 * The subject of a stream's filler, which makes the file with its newest messages full.
 * @param subjects what the stream stores, ending in `>`
 */
export function fillerSubject(subjects: string): string {
  return `${subjects.slice(0, -1)}${FILLER}`;
}

/** All other subjects have more tokens. */
export function isFillerSubject(subject: string): boolean {
  const tokens = subject.split(".");
  return tokens.length <= 3 && tokens.at(-1) === FILLER;
}
