import { BROKER_SERVICE_NAMES, type Environment, parseEnvironment } from "@reprise/runtime";

/** Where the archive and its keys are: what the commands need too. */
const STORAGE_NAMES = [
  "REPRISE_DATA_DIR",
  "REPRISE_AUDIT_NAME",
  "REPRISE_AUDIT_DIR",
  "REPRISE_AUDIT_S3_URL",
  "REPRISE_AUDIT_S3_REGION",
  "REPRISE_AUDIT_S3_KEY_ID",
  "REPRISE_AUDIT_S3_SECRET",
  "REPRISE_AUDIT_KEYS_DIR",
  "REPRISE_AUDIT_MASTER_KEY",
  "REPRISE_AUDIT_MASTER_KEY_FILE",
  "REPRISE_AUDIT_SIGNING_KEY_FILE",
  "REPRISE_AUDIT_EARLIER_VKEYS",
] as const;

export const AUDIT_NAMES = [...STORAGE_NAMES, "REPRISE_AUDIT_WITNESS_URLS"] as const;

const NAMES = [
  ...AUDIT_NAMES,
  ...BROKER_SERVICE_NAMES,
  "REPRISE_TENANTS_FILE",
  "REPRISE_ACCESS_LOG",
  "REPRISE_NICE",
] as const;

export type StorageEnvironment = Environment<(typeof STORAGE_NAMES)[number]>;
export type AuditLogEnvironment = Environment<(typeof NAMES)[number], "REPRISE_NATS_URL">;

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws RepriseError `config_invalid` */
export function parseAuditLogEnvironment(env: Variables): AuditLogEnvironment {
  return parseEnvironment(env, NAMES, ["REPRISE_NATS_URL"]);
}

/** @throws RepriseError `config_invalid` */
export function parseStorageEnvironment(env: Variables): StorageEnvironment {
  return parseEnvironment(env, STORAGE_NAMES);
}
