export { collect, type CommandIo, runProgram, endWithReader } from "./cli/command-line.ts";
export { boundPipelining, MAX_UNANSWERED } from "./http/bound-pipelining.ts";
export { BROKER_ADDRESS_NAMES, brokerAddressOf, findBrokerAddress } from "./broker/broker-address.ts";
export {
  BROKER_SERVICE_NAMES,
  type BrokerServiceContext,
  type BrokerServiceEnvironment,
  startBrokerService,
  type StartedBrokerService,
  logForbidden,
  topologyOf,
} from "./broker/broker-service.ts";
export { type BrokerWatch, watchBroker } from "./broker/broker-watch.ts";
export {
  apiBaseUrl,
  apiKeyEnv,
  type KeyEnvironment,
  modelName,
  parseConfigFile,
  readConfigFile,
  toConfigPath,
} from "./environment/config-file.ts";
export { type Environment, parseEnvironment } from "./environment/environment.ts";
export {
  ENVIRONMENT_TABLE,
  type EnvironmentName,
  type EnvironmentRow,
} from "./environment/environment-variables.ts";
export { ConsumerPlaces, observeConsumer, observeUnread } from "./observing/consumer-lag.ts";
export { observeBroker } from "./broker/observe-broker.ts";
export { observeLog } from "./observing/observe-log.ts";
export {
  type DependencyOptions,
  type DependencyWatch,
  DependencyWatches,
} from "./lifecycle/dependency-watch.ts";
export { WatchGroup } from "./lifecycle/watch-group.ts";
export { watchRedis } from "./lifecycle/watch-redis.ts";
export { findNatsServer } from "./broker/find-nats-server.ts";
export { type HttpAddress, listenHttp, toListenError } from "./http/listen-http.ts";
export { type RunningService, runService } from "./lifecycle/lifecycle.ts";
export { createLogger, type Logger, type LoggerOptions, type LogLevel } from "./lifecycle/logger.ts";
export { type LabelOf, METRICS, type MetricName } from "./http/metric-names.ts";
export type { Observer } from "./http/distribution.ts";
export { HttpMetrics } from "./http/http-metrics.ts";
export {
  OTHER_TENANTS,
  TenantLabels,
  createMetrics,
  type Metrics,
  type MetricsOptions,
} from "./http/metrics.ts";
export {
  type BrokerLogin,
  createPasswordUsers,
  type NatsAccounts,
  type PasswordUsers,
} from "./broker/nats-users.ts";
export type { SyncInterval } from "./environment/environment-values.ts";
export type { NatsServerSettings } from "./broker/nats-server-config.ts";
export { type NatsServer, type NatsServerOptions, startNatsServer } from "./broker/nats-server-process.ts";
export { writeOwnBrokerFile } from "./broker/own-broker-file.ts";
export {
  opsAddressBesideApi,
  opsAddressOf,
  createOpsHandler,
  type OpsAnswer,
  type OpsHandler,
  type OpsPath,
  type OpsSource,
  startOpsServer,
} from "./http/ops-server.ts";
export { ensurePrivateDir } from "./lifecycle/ensure-private-dir.ts";
export { createSecretFile, openSecretFile, replaceSecretFile } from "./lifecycle/secret-file.ts";
export { readProcessStart } from "./lifecycle/process-running.ts";
export {
  spawnSupervised,
  type SupervisedExit,
  type SupervisedProcess,
  type SupervisedProcessOptions,
} from "./lifecycle/supervised-process.ts";
export type { ConfiguredServer, ServerTls } from "./nats-config/server-conf.ts";
export {
  type NatsConfigOptions,
  writeNatsConfig,
  type WrittenNatsConfig,
} from "./nats-config/write-nats-config.ts";
export { resetSocket } from "./http/reset-socket.ts";
export { type CommitSpan, traceCommits } from "./tracing/trace-commits.ts";
export { lowerPriority } from "./lifecycle/process-priority.ts";
export { openServiceTracing, TRACING_NAMES } from "./tracing/service-tracing.ts";
export { createErrorLog } from "./lifecycle/error-log.ts";
