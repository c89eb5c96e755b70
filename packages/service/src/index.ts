export { boundPipelining, MAX_UNANSWERED } from "./bound-pipelining.ts";
export { BROKER_ADDRESS_NAMES, brokerAddressOf, findBrokerAddress } from "./broker-address.ts";
export {
  BROKER_SERVICE_NAMES,
  type BrokerServiceContext,
  type BrokerServiceEnvironment,
  startBrokerService,
  type StartedBrokerService,
} from "./broker-service.ts";
export { type BrokerWatch, watchBroker } from "./broker-watch.ts";
export {
  apiBaseUrl,
  apiKeyEnv,
  type KeyEnvironment,
  modelName,
  parseConfigFile,
  readConfigFile,
  toConfigPath,
} from "./config-file.ts";
export { type Environment, parseEnvironment } from "./environment.ts";
export { ENVIRONMENT_TABLE, type EnvironmentName, type EnvironmentRow } from "./environment-variables.ts";
export { findNatsServer, type NatsServerBinary } from "./find-nats-server.ts";
export { type HttpAddress, listenHttp } from "./listen-http.ts";
export { type RunningService, runService } from "./lifecycle.ts";
export { createLogger, type Logger, type LoggerOptions, type LogLevel } from "./logger.ts";
export { type LabelOf, METRICS, type MetricName } from "./metric-names.ts";
export { createMetrics, type Metrics, type MetricsOptions } from "./metrics.ts";
export type { NatsServerSettings, SyncInterval } from "./nats-server-config.ts";
export { type NatsServer, type NatsServerOptions, startNatsServer } from "./nats-server-process.ts";
export { writeOwnBrokerFile } from "./own-broker-file.ts";
export {
  createOpsHandler,
  OPS_PATHS,
  type OpsAnswer,
  type OpsHandler,
  type OpsPath,
  type OpsSource,
  startOpsServer,
} from "./ops-server.ts";
export { ensurePrivateDir } from "./private-dir.ts";
export { readProcessStart } from "./process-running.ts";
export {
  spawnSupervised,
  type SupervisedExit,
  type SupervisedProcess,
  type SupervisedProcessOptions,
} from "./supervised-process.ts";
export { resetSocket } from "./reset-socket.ts";
export { topologyOf } from "./topology-of.ts";
export { createErrorLog } from "./error-log.ts";
