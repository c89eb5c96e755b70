export { Appender, type AppenderOptions, type AppenderState } from "./appender.ts";
export { type Checkpointer, createCheckpointer, storeCheckpoint } from "./checkpoint.ts";
export { BrokerAvailability, type BrokerAvailabilityOptions } from "./broker-availability.ts";
export { type BrokerAccess, type BrokerAddress, hostsOf } from "./broker-access.ts";
export { type Broker, type BrokerOptions, connectBroker, watchConnection } from "./connection.ts";
export { type ArchivedEvents, type AuditClient, createAuditClient } from "./audit-client.ts";
export type { ArchivedEvent } from "./audit-client-answer.ts";
export { answerAuditCalls, type AuditAnswer, type AuditAnswersOptions } from "./audit-answers.ts";
export { appendDecision, type Decision, type DecisionOptions } from "./decision.ts";
export { FrameLog, type Framing } from "./frame-log.ts";
export { Gate } from "./gate.ts";
export { createGenerationLog, type GenerationLog } from "./generation-log.ts";
export { Hub } from "./hub.ts";
export type { HubOptions, HubStats } from "./hub-options.ts";
export { enqueueJob, type EnqueueOptions } from "./enqueue-job.ts";
export { listGenerations } from "./list-generations.ts";
export { isNoLongerKept } from "./no-longer-kept.ts";
export { answerHolders, isHeld } from "./job-holder.ts";
export { JobMemory } from "./job-memory.ts";
export { type Job, type Puller, pullJobs, type PullOptions } from "./jobs.ts";
export { holdLeases, type Leases, type LeasesOptions } from "./leases.ts";
export type { LeaderReader } from "./leader-reader.ts";
export { EMPTY_LOG, headOf, type LogHead } from "./log-head.ts";
export { announceLateEvent, type LateEventFeedOptions, subscribeLateEvents } from "./late-events.ts";
export { type LiveFeedOptions, subscribeLive } from "./live-feed.ts";
export type { LogSnapshot, StoredEvent } from "./stored-event.ts";
export type { LogReader } from "./log-reader.ts";
export type { Publish, PublishOptions, PublishOutcome } from "./publisher.ts";
export {
  closeGeneration,
  type ClosedGeneration,
  endGeneration,
  isPurged,
  purgeGeneration,
  type PurgeTarget,
  type StreamPlaces,
} from "./purge-generation.ts";
export { moveCheckpoints } from "./move-checkpoints.ts";
export { clearTextStretches, readTextStretches } from "./text-stretch.ts";
export { type FilledStream, fillStream, purgeFiller, streamsWithTextOf } from "./purge-generation-filler.ts";
export { Tail } from "./tail.ts";
export type { Remains } from "./rollback.ts";
export { readPolicy } from "./requested-policy.ts";
export { type ReaderFeedOptions, subscribeReaders } from "./reader-feed.ts";
export { type ErasureFeedOptions, subscribeErasures } from "./ops-erasures.ts";
export { type OpsTopic, recordOps } from "./ops-recording.ts";
export { type Begun, type Listening, listenTo } from "./open-tail.ts";
export { readShardCount } from "./shard-count.ts";
export { openBroker } from "./open-broker.ts";
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
} from "./open-jobs.ts";
export { abandonedSince, type Readership } from "./abandonment.ts";
export {
  assertReadersKept,
  decodeReaderRecord,
  type NodeReaders,
  publishReaders,
  READER_LEASE_MS,
  readReaders,
  type ReaderRecord,
} from "./reader-presence.ts";
export {
  listReview,
  type ListedReview,
  readExpiredReviews,
  readReviews,
  removeReview,
  type ReviewRecord,
  type ReviewsPage,
} from "./reviews.ts";
export { createRuleSetStore, readRuleSet, type RuleSetStore } from "./rule-sets.ts";
export {
  followShard,
  type ShardEvent,
  type ShardFollower,
  type ShardFollowerOptions,
} from "./shard-consumer.ts";
export { ensureTopology, type TopologyOptions } from "./topology.ts";
export { untilBegun } from "./until-begun.ts";
export {
  publishLiveVerdict,
  type StoredVerdict,
  storeVerdict,
  subscribeVerdicts,
  type VerdictFeedOptions,
  type VerdictReader,
} from "./verdicts.ts";
export { holdingModeration, Visibility } from "./visibility.ts";
export { watchRuleSets } from "./watch-rule-sets.ts";
export {
  type PlacedMessage,
  readLastMessage,
  readPlaces,
  readStoredAtUs,
  readStreamFacts,
  type StreamFacts,
} from "./stream-places.ts";
export { createWriterName } from "./writer-name.ts";
