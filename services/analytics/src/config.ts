import { BROKER_SERVICE_NAMES, type Environment, parseEnvironment } from "@reprise/runtime";

const STORAGE_NAMES = [
  "REPRISE_DATA_DIR",
  "REPRISE_ANALYTICS_DIR",
  "REPRISE_ANALYTICS_S3_URL",
  "REPRISE_AUDIT_S3_REGION",
  "REPRISE_AUDIT_S3_KEY_ID",
  "REPRISE_AUDIT_S3_SECRET",
] as const;

const USAGE_NAMES = [
  "REPRISE_USAGE_SOURCE",
  "REPRISE_USAGE_DIR",
  "REPRISE_USAGE_STREAM",
  "REPRISE_USAGE_WEBHOOK_URL",
  "REPRISE_USAGE_WEBHOOK_SECRET",
  "REPRISE_USAGE_LAGO_URL",
  "REPRISE_USAGE_LAGO_KEY",
  "REPRISE_USAGE_LAGO_CODE",
] as const;

export const ANALYTICS_NAMES = [
  ...STORAGE_NAMES,
  ...USAGE_NAMES,
  "REPRISE_ANALYTICS_KEYS",
  "REPRISE_MODELS_FILE",
  "REPRISE_METRICS_TENANTS",
] as const;

/** Name the archive for `reprise-usage`. */
const ARCHIVE_NAMES = [
  "REPRISE_AUDIT_NAME",
  "REPRISE_AUDIT_DIR",
  "REPRISE_AUDIT_S3_URL",
  "REPRISE_AUDIT_KEYS_DIR",
  "REPRISE_AUDIT_MASTER_KEY",
  "REPRISE_AUDIT_MASTER_KEY_FILE",
] as const;

const COMMAND_NAMES = [...STORAGE_NAMES, ...ARCHIVE_NAMES, "REPRISE_ANALYTICS_KEYS"] as const;

const NAMES = [...ANALYTICS_NAMES, ...BROKER_SERVICE_NAMES, "REPRISE_ACCESS_LOG", "REPRISE_NICE"] as const;

export type AnalyticsStorageEnvironment = Environment<(typeof STORAGE_NAMES)[number]>;
export type AnalyticsUsageEnvironment = Environment<(typeof USAGE_NAMES)[number]>;
export type CommandEnvironment = Environment<(typeof COMMAND_NAMES)[number]>;
export type AnalyticsEnvironment = Environment<(typeof NAMES)[number], "REPRISE_NATS_URL">;

/** @throws RepriseError `config_invalid` */
export function parseAnalyticsEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): AnalyticsEnvironment {
  return parseEnvironment(env, NAMES, ["REPRISE_NATS_URL"]);
}

/** @throws RepriseError `config_invalid` */
export function parseCommandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): CommandEnvironment {
  return parseEnvironment(env, COMMAND_NAMES);
}
