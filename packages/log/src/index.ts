export { Appender } from "./append/appender.ts";
export { askPatiently, type RowBroker } from "./append/row-broker.ts";
export { storeAfter } from "./append/store-after.ts";
export { beginLog } from "./append/begin-log.ts";
export { type Checkpointer, createCheckpointer, storeCheckpoint } from "./append/checkpoint.ts";
export { BROKER_USERS, type BrokerUser, type ServiceUser } from "./access/broker-user.ts";
export type { Forbidden } from "./access/forbidden.ts";
export { accountsOf, type NatsAccount, PLATFORM_ACCOUNT } from "./access/accounts.ts";
export { MODERATION_CONSUMER, type PermissionOptions } from "./access/permissions.ts";
export { createUserKey, toUserKey } from "./access/user-key.ts";
export { takeBackup } from "./backup/take-backup.ts";
export { type BackedUpStream, type BackupManifest, checkBackup } from "./backup/backup-files.ts";
export { restoreBackup } from "./backup/restore-backup.ts";
export { BrokerAvailability } from "./topology/broker-availability.ts";
export { type BrokerAddress, hostsOf } from "./nats/broker-access.ts";
export { type Broker, connectBroker } from "./nats/connection.ts";
export { isRefusal } from "./nats/jetstream-errors.ts";
export { type OnStale, RefreshLoop } from "./topology/refresh-loop.ts";
export { watchConnection } from "./nats/watch-connection.ts";
export { type ArchivedEvents, type AuditClient, createAuditClient } from "./service-calls/audit-client.ts";
export type { ArchivedEvent } from "./service-calls/audit-client-answer.ts";
export { type AnalyticsClient, createAnalyticsClient } from "./service-calls/analytics-client.ts";
export { answerCalls, type CallAnswer } from "./service-calls/answer-calls.ts";
export { subscribeYieldRequests } from "./append/yield-requests.ts";
export { appendDecision, type Decision } from "./append/append-decision.ts";
export { Attempts } from "./hub/cache/attempts.ts";
export type { Derived } from "./hub/cache/derived.ts";
export { FrameBuffer, type Framing } from "./hub/cache/frame-buffer.ts";
export { createGenerationLog, type GenerationLog } from "./read/generation-log.ts";
export { Hub } from "./hub/hub.ts";
export { enqueueJob } from "./jobs/enqueue-job.ts";
export { extendFromLeader, readCurrentLog } from "./read/current-log.ts";
export { listGenerations } from "./read/list-generations.ts";
export { isExpiredOrErased } from "./read/expired-or-erased.ts";
export { answerHolderQueries, isHeld } from "./jobs/job-holder.ts";
export type { TenantShare } from "./jobs/lanes/tenant-share.ts";
export { JobMemory } from "./jobs/job-memory.ts";
export type { Job } from "./jobs/job.ts";
export { type QueueDepth, QueueDepths } from "./jobs/fleet/queue-depths.ts";
export { type ModelWorkers, WorkersWatch } from "./jobs/fleet/workers-watch.ts";
export { type Puller, pullJobs } from "./jobs/pull-jobs.ts";
export { holdLeases } from "./leases/leases.ts";
export { keepRecord, readKeptRecord } from "./leases/kept-record.ts";
export { headOf } from "./read/log-head.ts";
export { announceEnd, subscribeEnds } from "./append/ends.ts";
export { announceEventBehindEnd, subscribeEventsBehindEnds } from "./moderation/events-behind-ends.ts";
export { readLastStored } from "./read/read-last-stored.ts";
export { waitUntilBegun } from "./read/wait-until-begun.ts";
export { subscribeLive } from "./read/live-feed.ts";
export type { LogSnapshot, StoredEvent } from "./read/stored-event.ts";
export type { LogObserver } from "./read/log-observer.ts";
export type { Publish } from "./nats/publisher.ts";
export { type OpsTopic, recordOps } from "./ops/record-ops.ts";
export * as blobs from "./blobs/index.ts";
export * as conversations from "./conversations/index.ts";
export * as logErasure from "./erasure/index.ts";
export { GenerationCache } from "./hub/cache/generation-cache.ts";
export type { RemainingLog } from "./append/rollback.ts";
export { readPolicy, toEffectivePolicy } from "./read/requested-policy.ts";
export { subscribePresence } from "./presence/presence-feed.ts";
export { subscribeErasures } from "./erasure/erasure-feed.ts";
export { type NewLog, type BufferedFeed, bufferLiveFeed } from "./hub/open-generation-cache.ts";
export { readShardCount } from "./topology/shard-count.ts";
export { removeServer } from "./topology/remove-server.ts";
export { isWhole, readStreamHealth, type StreamHealth } from "./topology/stream-health.ts";
export { openBroker } from "./topology/open-broker.ts";
export * as openJobs from "./jobs/open-jobs.ts";
export type { OpenJob, QueuedJob } from "./jobs/open-jobs.ts";
export {
  assertPresenceStored,
  publishPresence,
  PRESENCE_LEASE_MS,
  readPresence,
  type PresenceRecord,
} from "./presence/presence-records.ts";
export { type ListedReview, reviewList, type ReviewRecord } from "./moderation/review-list.ts";
export { createRuleSetStore, readRuleSet, type RuleSetStore } from "./moderation/rule-sets.ts";
export { readShardBacklog } from "./shard/shard-backlog.ts";
export { followShard, type ShardEvent, type ShardFollower } from "./shard/follow-shard.ts";
export { publishLiveVerdict, type StoredVerdict, storeVerdict } from "./moderation/verdicts.ts";
export { holdingModeration, Visibility } from "./moderation/visibility.ts";
export { watchRuleSets } from "./moderation/watch-rule-sets.ts";
export {
  type StreamMessage,
  readAllMessages,
  hasMessage,
  notPublished,
  readLastMessage,
  readLastRaw,
  readRawFromLeader,
  readStreamMessages,
  readStoredAtUs,
  readStreamInfo,
  type StreamInfo,
} from "./nats/stream-messages.ts";
export { publishedHeaders } from "./nats/is-published.ts";
export { createWriterName } from "./nats/writer-name.ts";
