import { ANALYTICS_NAMES } from "@reprise/analytics";
import { AUDIT_NAMES } from "@reprise/audit-log";
import { BROKER_ADDRESS_NAMES, type Environment, parseEnvironment, TRACING_NAMES } from "@reprise/service";

const NAMES = [
  "REPRISE_HOST",
  "REPRISE_PORT",
  "REPRISE_OPS_HOST",
  "REPRISE_OPS_PORT",
  ...BROKER_ADDRESS_NAMES,
  "REPRISE_SYNC_INTERVAL",
  "REPRISE_REDIS_URL",
  "REPRISE_MODELS_FILE",
  "REPRISE_TENANTS_FILE",
  "REPRISE_TENANTS_SOURCE",
  "REPRISE_OPERATOR_KEY_SHA256",
  "REPRISE_CLASSIFIERS_FILE",
  "REPRISE_LOG_LEVEL",
  "REPRISE_SHARDS",
  "REPRISE_REPLICAS",
  "REPRISE_RETENTION_HOURS",
  "REPRISE_WORKER_SLOTS",
  "REPRISE_WORKER_MEMORY_MB",
  "REPRISE_ACK_WAIT_MS",
  "REPRISE_HUB_MEMORY_MB",
  "REPRISE_DRAIN_MS",
  "REPRISE_DRAIN_NOTICE_MS",
  "REPRISE_MAX_CONNECTIONS_PER_ADDRESS",
  "REPRISE_TRUSTED_PROXIES",
  "REPRISE_ACCESS_LOG",
  "REPRISE_TLS_CERT",
  "REPRISE_TLS_KEY",
  "REPRISE_REQUEST_MEMORY_MB",
  "REPRISE_CORS_ORIGINS",
  "REPRISE_TOKEN_AUDIENCE",
  ...TRACING_NAMES,
  "REPRISE_AUDIT",
  "REPRISE_WITNESS",
  "REPRISE_WITNESS_DIR",
  "REPRISE_WITNESS_NAME",
  ...AUDIT_NAMES,
  "REPRISE_ANALYTICS",
  ...ANALYTICS_NAMES,
] as const;

export type PlatformEnvironment = Environment<(typeof NAMES)[number]>;

/** @throws RepriseError `config_invalid` */
export function parsePlatformEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): PlatformEnvironment {
  return parseEnvironment(env, NAMES);
}
