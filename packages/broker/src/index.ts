export { type NatsAccount, PLATFORM_ACCOUNT, accountsOf } from "./access/accounts.ts";
export { consumerCall, consumerList } from "./access/api-subject.ts";
export { BROKER_USERS, type BrokerUser, type ServiceUser } from "./access/broker-user.ts";
export type { Forbidden } from "./access/forbidden.ts";
export { newInbox } from "./access/inbox-prefix.ts";
export { MODERATION_CONSUMER, type PermissionOptions } from "./access/permissions.ts";
export { createUserKey, toUserKey } from "./access/user-key.ts";
export { type DeliveryInfo, readAckSubject } from "./nats/ack-subject.ts";
export { type BrokerAddress, hostsOf } from "./nats/broker-access.ts";
export { type Broker, connectBroker, flushConnection } from "./nats/connection.ts";
export { getBatchDirect, getLastDirect, storedAtOf, streamSeqOf, subjectOf } from "./nats/direct-get.ts";
export { FOR_EVER, HEADER } from "./nats/header.ts";
export {
  isAnsweredPublished,
  isPublished,
  isStoredPublished,
  publishedHeaders,
} from "./nats/is-published.ts";
export { isRefusal } from "./nats/jetstream-errors.ts";
export { type Publish, type PublishOutcome, createPublish } from "./nats/publisher.ts";
export { type PullEnd, PullLoop, RENEW_MS } from "./nats/pull-loop.ts";
export { type NoReply, inboxOf } from "./nats/reply-inbox.ts";
export {
  MADE_AT,
  type StoredMessage,
  deleteMessage,
  getLastMessage,
  getNextMessage,
  getStreamInfo,
  headerOf,
  ifUnavailable,
  isUnavailable,
  purgeSubject,
  streamUnavailable,
} from "./nats/stream-api.ts";
export {
  type ReadRequest,
  type StreamInfo,
  type StreamMessage,
  hasMessage,
  notPublished,
  readAllMessages,
  readLastMessage,
  readLastRaw,
  readRawFromLeader,
  readStoredAtUs,
  readStreamBatch,
  readStreamInfo,
  readStreamMessages,
  toMicroseconds,
} from "./nats/stream-messages.ts";
export { subscribeGuarded } from "./nats/subscribe-guarded.ts";
export { watchConnection } from "./nats/watch-connection.ts";
export { createWriterName } from "./nats/writer-name.ts";
export { type OpsTopic, recordOps } from "./ops/record-ops.ts";
export { type AnalyticsClient, createAnalyticsClient } from "./service-calls/analytics-client.ts";
export { type CallAnswer, answerCalls } from "./service-calls/answer-calls.ts";
export type { ArchivedEvent } from "./service-calls/audit-client-answer.ts";
export { type ArchivedEvents, type AuditClient, createAuditClient } from "./service-calls/audit-client.ts";
export { BrokerAvailability } from "./topology/broker-availability.ts";
export { openBroker, ensureTopology } from "./topology/topology.ts";
export { type OnStale, RefreshLoop } from "./topology/refresh-loop.ts";
export { removeServer } from "./topology/remove-server.ts";
export { readShardCount } from "./topology/shard-count.ts";
export { streamConfigs } from "./topology/stream-configs.ts";
export { type StreamHealth, isWhole, readStreamHealth } from "./topology/stream-health.ts";
