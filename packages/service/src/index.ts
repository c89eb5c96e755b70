export { findNatsServer, MIN_NATS_SERVER_VERSION, type NatsServerBinary } from "./find-nats-server.ts";
export type { NatsServerSettings, SyncInterval } from "./nats-server-config.ts";
export { type NatsServer, type NatsServerExit, type NatsServerOptions, startNatsServer } from "./nats-server-process.ts";
export { type Environment, parseEnvironment } from "./environment.ts";
export { ENVIRONMENT_TABLE, type EnvironmentName, type EnvironmentRow } from "./environment-variables.ts";
