export { Appender, type AppenderOptions, type AppenderState } from "./append/appender.ts";
export { beginLog } from "./append/begin-log.ts";
export { type Checkpointer, createCheckpointer, storeCheckpoint } from "./append/checkpoint.ts";
export { BrokerAvailability, type BrokerAvailabilityOptions } from "./nats/broker-availability.ts";
export { type BrokerAccess, type BrokerAddress, hostsOf } from "./nats/broker-access.ts";
export { type Broker, type BrokerOptions, connectBroker } from "./nats/connection.ts";
export { watchConnection } from "./nats/watch-connection.ts";
export { type ArchivedEvents, type AuditClient, createAuditClient } from "./audit-rpc/audit-client.ts";
export type { ArchivedEvent } from "./audit-rpc/audit-client-answer.ts";
export { answerAuditCalls, type AuditAnswer, type AuditAnswersOptions } from "./audit-rpc/audit-answers.ts";
export { appendDecision, type Decision, type DecisionOptions } from "./append/append-decision.ts";
export { Attempts } from "./hub/cache/attempts.ts";
export { FrameBuffer, type Framing } from "./hub/cache/frame-buffer.ts";
export { createGenerationLog, type GenerationLog } from "./read/generation-log.ts";
export { Hub } from "./hub/hub.ts";
export type { HubOptions, HubStats } from "./hub/hub-options.ts";
export { enqueueJob, type EnqueueOptions } from "./jobs/enqueue-job.ts";
export { createCurrentReader, extendFromLeader, readCurrentLog } from "./read/current-log.ts";
export { listGenerations } from "./read/list-generations.ts";
export { isExpiredOrErased } from "./read/expired-or-erased.ts";
export { answerHolderQueries, isHeld } from "./jobs/job-holder.ts";
export { JobMemory } from "./jobs/job-memory.ts";
export { type Job, type Puller, pullJobs, type PullOptions } from "./jobs/pull-jobs.ts";
export { holdLeases, type Leases, type LeasesOptions } from "./leases/leases.ts";
export type { LeaderReader } from "./read/leader-reader.ts";
export { EMPTY_LOG, headOf, type LogHead } from "./append/log-head.ts";
export {
  announceEventBehindEnd,
  type EventsBehindEndsOptions,
  subscribeEventsBehindEnds,
} from "./moderation/events-behind-ends.ts";
export { type LiveFeedOptions, subscribeLive } from "./read/live-feed.ts";
export type { LogSnapshot, StoredEvent } from "./read/stored-event.ts";
export type { LogReader } from "./read/log-reader.ts";
export type { Publish, PublishOptions, PublishOutcome } from "./nats/publisher.ts";
export {
  closeGeneration,
  type ClosedGeneration,
  endGeneration,
  isPurged,
  purgeGeneration,
  type PurgeTarget,
  type StreamRanges,
} from "./erasure/purge-generation.ts";
export { moveCheckpoints } from "./erasure/move-checkpoints.ts";
export { clearTextIntervals, readTextIntervals } from "./erasure/text-interval.ts";
export { type FilledStream, fillStream, purgeFiller, streamsWithTextOf } from "./erasure/fill-stream.ts";
export { GenerationCache } from "./hub/cache/generation-cache.ts";
export type { RemainingLog } from "./append/rollback.ts";
export { readPolicy, toEffectivePolicy } from "./read/requested-policy.ts";
export { type PresenceFeedOptions, subscribePresence } from "./presence/presence-feed.ts";
export { type ErasureFeedOptions, subscribeErasures } from "./erasure/erasure-feed.ts";
export { type OpsTopic, recordOps } from "./audit-rpc/ops-recording.ts";
export { type NewLog, type BufferedFeed, bufferLiveFeed } from "./hub/open-generation-cache.ts";
export { readShardCount } from "./topology/shard-count.ts";
export { openBroker } from "./topology/open-broker.ts";
export {
  deleteJob,
  type OpenJob,
  type QueuedJob,
  type QueueEnd,
  type QueuePart,
  readAllJobs,
  readJob,
  readJobsAfter,
  readQueueEnd,
} from "./jobs/open-jobs.ts";
export { abandonedSince, type Readership } from "./presence/abandonment.ts";
export {
  assertPresenceStored,
  decodePresenceRecord,
  type NodePresence,
  publishPresence,
  PRESENCE_LEASE_MS,
  readPresence,
  type PresenceRecord,
} from "./presence/presence-records.ts";
export {
  listReview,
  type ListedReview,
  readExpiredReviews,
  readReviews,
  removeReview,
  type ReviewRecord,
  type ReviewsPage,
} from "./moderation/reviews.ts";
export { createRuleSetStore, readRuleSet, type RuleSetStore } from "./moderation/rule-sets.ts";
export {
  followShard,
  type ShardEvent,
  type ShardFollower,
  type ShardFollowerOptions,
} from "./shard/follow-shard.ts";
export { ensureTopology, type TopologyOptions } from "./topology/topology.ts";
export { waitUntilBegun } from "./read/wait-until-begun.ts";
export {
  publishLiveVerdict,
  type StoredVerdict,
  storeVerdict,
  subscribeVerdicts,
  type VerdictFeedOptions,
  type VerdictReader,
} from "./moderation/verdicts.ts";
export { holdingModeration, Visibility } from "./moderation/visibility.ts";
export { watchRuleSets } from "./moderation/watch-rule-sets.ts";
export {
  type StreamMessage,
  readLastMessage,
  readStreamMessages,
  readStoredAtUs,
  readStreamInfo,
  type StreamInfo,
} from "./nats/stream-messages.ts";
export { createWriterName } from "./nats/writer-name.ts";
