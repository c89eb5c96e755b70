import type * as z from "zod";
import {
  decimal,
  integer,
  list,
  oneOf,
  origin,
  secret,
  syncInterval,
  text,
  url,
  word,
} from "./environment-values.ts";

interface Variable<T> {
  readonly schema: z.ZodType<T, string>;
  readonly meaning: string;
}

/** `fallback` is what the variable is when it is not set, written as one would set it; without one its value is undefined. */
export interface OptionalVariable<T> extends Variable<T> {
  readonly fallback: undefined;
}
export interface DefaultedVariable<T> extends Variable<T> {
  readonly fallback: string;
}

function optional<T>(schema: z.ZodType<T, string>, meaning: string): OptionalVariable<T> {
  return { schema, fallback: undefined, meaning };
}

function defaulted<T>(fallback: string, schema: z.ZodType<T, string>, meaning: string): DefaultedVariable<T> {
  return { schema, fallback, meaning };
}

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/**
 * Every environment variable that a Reprise process may have. A name that is not here is refused by all of them; one that a
 * service does not use is let pass, so that one file can serve them all. The README's table is compared with this one by a test.
 */
export const ENVIRONMENT_VARIABLES = {
  REPRISE_HOST: defaulted("127.0.0.1", text(), "Address that the HTTP servers bind to."),
  REPRISE_PORT: defaulted("8080", integer(0, 65_535), "Port of the API; 0 takes a free one."),
  REPRISE_OPS_PORT: optional(
    integer(0, 65_535),
    "Port of /healthz, /readyz and /metrics; without it delivery and `npm start` have them beside the API, other services nowhere.",
  ),
  REPRISE_DATA_DIR: defaulted(
    ".reprise",
    text(),
    "Folder for what the platform keeps: the broker's store, dev.json, fetched binaries.",
  ),
  REPRISE_NATS_URL: optional(
    list(url("nats", "tls")),
    "NATS servers to use, separated by commas; without it `npm start` runs its own. `tls://` is TLS or a refusal; `user:password@` and `token@` may stand in it.",
  ),
  REPRISE_NATS_USER: optional(secret(), "User that NATS is asked to let in."),
  REPRISE_NATS_PASSWORD: optional(secret(), "Password of that user."),
  REPRISE_NATS_TOKEN: optional(secret(), "Token that NATS is asked to let in."),
  REPRISE_NATS_CREDS: optional(text(), "File with a user's JWT and seed, as `nsc generate creds` writes it."),
  REPRISE_NATS_NKEY: optional(text(), "File with the seed of a user's nkey."),
  REPRISE_NATS_CA: optional(
    text(),
    "PEM file with the authorities that NATS's certificate is trusted by; asks for TLS.",
  ),
  REPRISE_NATS_CERT: optional(text(), "PEM file with the client's certificate for NATS; asks for TLS."),
  REPRISE_NATS_KEY: optional(text(), "PEM file with the key of that certificate."),
  REPRISE_NATS_TLS_FIRST: defaulted(
    "off",
    oneOf(["on", "off"]),
    "Whether TLS begins with the first byte, on or off: on for a nats-server with `handshake_first`.",
  ),
  REPRISE_NATS_SERVER: optional(
    text(),
    "Path of the nats-server to run; without it PATH, then the data folder, is searched.",
  ),
  REPRISE_SYNC_INTERVAL: defaulted(
    "2m",
    syncInterval(),
    "How long the nats-server that `npm start` runs may keep what it has stored from the disk: `always` is not at all.",
  ),
  REPRISE_REDIS_URL: optional(
    url("redis", "rediss"),
    "Redis for limits shared between processes; nothing uses it yet.",
  ),
  REPRISE_MODELS_FILE: optional(
    text(),
    "JSON file that routes models to engines; without it there is the model `sim`.",
  ),
  REPRISE_TENANTS_FILE: optional(
    text(),
    "JSON file with tenants, keys and policies; without it `npm start` makes the tenant `demo`.",
  ),
  REPRISE_CLASSIFIERS_FILE: optional(
    text(),
    "JSON file with the classifiers that rules of moderation may name; without it there are none.",
  ),
  REPRISE_AUDIT: defaulted(
    "on",
    oneOf(["on", "off"]),
    "Whether `npm start` keeps an audit log: on or off. As a service of its own it always does.",
  ),
  REPRISE_AUDIT_NAME: defaulted(
    "reprise",
    word(),
    "Name of the archive: what its checkpoints and its signing key are called.",
  ),
  REPRISE_AUDIT_DIR: optional(text(), "Folder of the archive; without it `audit` in the data folder."),
  REPRISE_AUDIT_S3_URL: optional(
    url("http", "https"),
    "Bucket of an S3-compatible store, and a prefix, to keep the archive in instead of a folder.",
  ),
  REPRISE_AUDIT_S3_REGION: defaulted(
    "us-east-1",
    text(),
    "Region that requests to that store are signed for.",
  ),
  REPRISE_AUDIT_S3_KEY_ID: optional(text(), "Access key of that store."),
  REPRISE_AUDIT_S3_SECRET: optional(text(), "Secret of that access key."),
  REPRISE_AUDIT_KEYS_DIR: optional(
    text(),
    "Folder of the keys that the archive is sealed with; without it `audit-keys` in the data folder. Not in the same backup as the archive.",
  ),
  REPRISE_AUDIT_MASTER_KEY: optional(
    text(),
    "The key that wraps all others, 32 bytes as base64 or hex; without it the file is used.",
  ),
  REPRISE_AUDIT_MASTER_KEY_FILE: optional(
    text(),
    "File with that key; without it `master.key` in the folder of the keys, made when it is missing.",
  ),
  REPRISE_AUDIT_SIGNING_KEY_FILE: optional(
    text(),
    "File with the key that signs checkpoints; without it `signing.key` in the folder of the keys, made when it is missing.",
  ),
  REPRISE_AUDIT_EARLIER_VKEYS: optional(
    list(text()),
    "Public keys that the archive was signed with before its signing key was changed, separated by commas.",
  ),
  REPRISE_AUDIT_WITNESS_URLS: optional(
    list(url("http", "https")),
    "Witnesses that cosign checkpoints, separated by commas.",
  ),
  REPRISE_WITNESS: defaulted(
    "on",
    oneOf(["on", "off"]),
    "Whether `npm start` runs a witness of its audit log, as a process of its own, where no other witnesses are named: on or off.",
  ),
  REPRISE_WITNESS_DIR: optional(
    text(),
    "Folder of a witness: its key, and what it has seen; without it `witness` in the data folder. Not on the archive's disk.",
  ),
  REPRISE_WITNESS_NAME: defaulted("witness", word(), "Name of a witness: what its key is called."),
  REPRISE_WITNESS_LOGS: optional(
    list(text()),
    "Keys of the archives that a witness cosigns, as `vkey` in the audit log's first line, separated by commas.",
  ),
  REPRISE_LOG_LEVEL: defaulted(
    "info",
    oneOf(LOG_LEVELS),
    `Least severe level that is logged: ${LOG_LEVELS.join(", ")}.`,
  ),
  REPRISE_SHARDS: defaulted(
    "4",
    integer(1, 1_000),
    "How many streams new generations are spread over; generations that exist never move.",
  ),
  REPRISE_REPLICAS: defaulted(
    "1",
    oneOf(["1", "3", "5"]).transform(Number),
    "How many NATS servers keep each stream: 1, 3 or 5.",
  ),
  REPRISE_RETENTION_HOURS: defaulted(
    "24",
    decimal(0.0005, 8_760),
    "How long the live log keeps a generation's events, in hours; parts of an hour are for tests.",
  ),
  REPRISE_WORKER_SLOTS: defaulted(
    "256",
    integer(1, 10_000),
    "How many generations of each model one inference-worker runs at once; a models file may say otherwise for one.",
  ),
  REPRISE_WORKER_MEMORY_MB: defaulted(
    "256",
    integer(8, 1_048_576),
    "How many MiB of requests one inference-worker runs at once, of all models; while it is full it takes no more jobs.",
  ),
  REPRISE_ACK_WAIT_MS: defaulted(
    "5000",
    integer(500, 600_000),
    "How long after a worker's last sign of life its job goes to another, in milliseconds.",
  ),
  REPRISE_HUB_MEMORY_MB: defaulted(
    "256",
    integer(8, 65_536),
    "How much delivery keeps of generations in memory, in MiB.",
  ),
  REPRISE_DRAIN_MS: defaulted(
    "10000",
    integer(0, 600_000),
    "How long a process may take to end after SIGTERM, in milliseconds; delivery's notice comes before.",
  ),
  REPRISE_DRAIN_NOTICE_MS: optional(
    integer(0, 600_000),
    "How long delivery answers 503 to /readyz after SIGTERM, and serves on, before it sends readers home, in milliseconds; without it 5000, and 0 in `npm start`.",
  ),
  REPRISE_MAX_CONNECTIONS_PER_ADDRESS: defaulted(
    "1000",
    integer(0, 1_000_000),
    "How many connections delivery lets one address have open; 0 for no bound, as behind a proxy that bounds them itself.",
  ),
  REPRISE_REQUEST_MEMORY_MB: defaulted(
    "64",
    integer(4, 1_048_576),
    "How many MiB of request bodies delivery works on at a time; one tenant gets a third of it at most.",
  ),
  REPRISE_CORS_ORIGINS: defaulted(
    "*",
    list(origin()),
    "Origins whose pages may call the API, separated by commas; `*` is any.",
  ),
} as const;

export type EnvironmentName = keyof typeof ENVIRONMENT_VARIABLES;

export type EnvironmentValue<Name extends EnvironmentName> =
  (typeof ENVIRONMENT_VARIABLES)[Name] extends infer V
    ? V extends DefaultedVariable<infer T>
      ? T
      : V extends OptionalVariable<infer T>
        ? T | undefined
        : never
    : never;

export function isEnvironmentName(name: string): name is EnvironmentName {
  return Object.hasOwn(ENVIRONMENT_VARIABLES, name);
}

export interface EnvironmentRow {
  readonly name: EnvironmentName;
  readonly default: string | undefined;
  readonly meaning: string;
}

/** The registry as documents show it. */
export const ENVIRONMENT_TABLE: readonly EnvironmentRow[] = Object.entries(ENVIRONMENT_VARIABLES).map(
  ([name, { fallback, meaning }]) => ({ name: name as EnvironmentName, default: fallback, meaning }),
);
