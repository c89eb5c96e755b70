import type * as z from "zod";
import {
  audience,
  decimal,
  host,
  integer,
  list,
  metadataKey,
  network,
  oneOf,
  origin,
  secret,
  sha256,
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
interface OptionalVariable<T> extends Variable<T> {
  readonly fallback: undefined;
}
interface DefaultedVariable<T> extends Variable<T> {
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
 * Every environment variable that a Reprise process may have. A name that begins with `REPRISE_` and is not here is refused by all of them; one that a
 * service does not use is ignored, so that one file can serve them all. A test compares the table of docs/configuration.md with this one.
 */
export const ENVIRONMENT_VARIABLES = {
  REPRISE_HOST: defaulted("127.0.0.1", text(), "Address of the API."),
  REPRISE_PORT: defaulted("8080", integer(0, 65_535), "Port of the API; 0 takes a free one."),
  REPRISE_GRPC_PORT: optional(
    integer(0, 65_535),
    "Port of the API in HTTP/2 without TLS, for gRPC; 0 takes a free one. Without it there is none; with TLS gRPC is at REPRISE_PORT.",
  ),
  REPRISE_OPS_HOST: defaulted(
    "127.0.0.1",
    text(),
    "Address of the port of /healthz, /readyz and /metrics; in Kubernetes `0.0.0.0` or `::`.",
  ),
  REPRISE_OPS_PORT: optional(
    integer(0, 65_535),
    "Port of /healthz, /readyz and /metrics; 0 takes a free one. Default of delivery and `npm start`: 9464, or a free one if REPRISE_PORT is 0; other services serve none.",
  ),
  REPRISE_DATA_DIR: defaulted(
    ".reprise",
    text(),
    "Folder of the broker's store, dev.json and downloaded binaries.",
  ),
  REPRISE_NATS_URL: optional(
    list(url("nats", "tls")),
    "NATS servers, separated by commas; by default `npm start` runs its own. `tls://` requires TLS; a URL may contain `user:password@` or `token@`.",
  ),
  REPRISE_NATS_USER: optional(secret(), "User name for NATS."),
  REPRISE_NATS_PASSWORD: optional(secret(), "Password of that user."),
  REPRISE_NATS_TOKEN: optional(secret(), "Token for NATS."),
  REPRISE_NATS_CREDS: optional(text(), "File with a user's JWT and seed (`nsc generate creds`)."),
  REPRISE_NATS_NKEY: optional(text(), "File with an nkey's seed."),
  REPRISE_NATS_CA: optional(text(), "PEM file of trusted authorities for NATS; requires TLS."),
  REPRISE_NATS_CERT: optional(text(), "PEM file of the client certificate for NATS; requires TLS."),
  REPRISE_NATS_KEY: optional(text(), "PEM file of its private key."),
  REPRISE_NATS_TLS_FIRST: defaulted(
    "off",
    oneOf(["on", "off"]),
    "`on` for a nats-server with `handshake_first`, else `off`.",
  ),
  REPRISE_NATS_SERVER: optional(
    text(),
    "Path of the nats-server binary; default: on PATH, then in the data folder.",
  ),
  REPRISE_SYNC_INTERVAL: defaulted(
    "2m",
    syncInterval(),
    "How long the nats-server of `npm start` may wait before it syncs messages to disk; `always` syncs each one.",
  ),
  REPRISE_REDIS_URL: optional(
    url("redis", "rediss"),
    "Redis that counts limits over all delivery nodes, and budgets over these and workers; without it each process counts alone. `rediss://` for TLS; the URL may contain `user:password@`. [infra/redis](../infra/redis/README.md) writes users with the least permissions.",
  ),
  REPRISE_MODELS_FILE: optional(text(), "JSON file of models; without it only `sim` exists."),
  REPRISE_TENANTS_FILE: optional(
    text(),
    "JSON file of tenants, keys and policies; without it `npm start` creates the tenant `demo`.",
  ),
  REPRISE_TENANTS_SOURCE: defaulted(
    "seed",
    oneOf(["seed", "file"]),
    "`seed`: the tenants file creates tenants that the broker lacks; `file`: it owns all tenants.",
  ),
  REPRISE_OPERATOR_KEY_SHA256: optional(
    sha256(),
    "Lower-case hex SHA-256 of the operator's key, which administers all tenants.",
  ),
  REPRISE_URL: optional(
    url("http", "https"),
    "URL of the API for `reprise-admin`; default http://127.0.0.1:8080. Services ignore it.",
  ),
  REPRISE_ADMIN_KEY: optional(
    text(),
    "Key for `reprise-admin`: the operator's, or one with the role `admin`. Services ignore it.",
  ),
  REPRISE_CLASSIFIERS_FILE: optional(text(), "JSON file of the classifiers that rules may name."),
  REPRISE_AUDIT: defaulted(
    "on",
    oneOf(["on", "off"]),
    "`on` or `off`: whether `npm start` runs the audit log.",
  ),
  REPRISE_ANALYTICS: defaulted(
    "on",
    oneOf(["on", "off"]),
    "`on` or `off`: whether `npm start` runs analytics.",
  ),
  REPRISE_ANALYTICS_DIR: optional(
    text(),
    "Folder of analytics' rows; default `analytics` in the data folder.",
  ),
  REPRISE_ANALYTICS_S3_URL: optional(
    url("http", "https"),
    "URL of an S3 bucket, with a prefix of its own, for these rows instead of a folder; with `REPRISE_AUDIT_S3_REGION`, `REPRISE_AUDIT_S3_KEY_ID` and `REPRISE_AUDIT_S3_SECRET`.",
  ),
  REPRISE_METRICS_TENANTS: defaulted(
    "100",
    integer(0, 10_000),
    "Number of tenants that metrics name, the first that a process meets; others are `other`.",
  ),
  REPRISE_ANALYTICS_KEYS: optional(
    list(metadataKey()),
    "Metadata keys that analytics keeps, separated by commas; 64 characters of each value.",
  ),
  REPRISE_USAGE_SOURCE: defaulted("/reprise", text(), "`source` of usage events."),
  REPRISE_USAGE_DIR: optional(text(), "Folder for usage events as NDJSON, a file per day."),
  REPRISE_USAGE_STREAM: defaulted(
    "off",
    oneOf(["on", "off"]),
    "`on` or `off`: whether usage events are stored in the stream USAGE, under `usage.<tenant>`.",
  ),
  REPRISE_USAGE_WEBHOOK_URL: optional(
    url("http", "https"),
    "URL for usage events, signed by Standard Webhooks.",
  ),
  REPRISE_USAGE_WEBHOOK_SECRET: optional(
    secret(),
    "Key of that signature: `whsec_` and 24 to 64 bytes in base64.",
  ),
  REPRISE_USAGE_LAGO_URL: optional(
    url("http", "https"),
    "URL of Lago's API, without `/api/v1`, for usage in Lago's form; a tenant's name is its `external_subscription_id`.",
  ),
  REPRISE_USAGE_LAGO_KEY: optional(secret(), "API key of that Lago."),
  REPRISE_USAGE_LAGO_CODE: defaulted(
    "reprise_usage",
    text(),
    "`code` of the billable metric in these events.",
  ),
  REPRISE_AUDIT_NAME: defaulted(
    "reprise",
    word(),
    "Name of the archive, its signed checkpoints and its signing key.",
  ),
  REPRISE_AUDIT_DIR: optional(text(), "Folder of the archive; default `audit` in the data folder."),
  REPRISE_AUDIT_S3_URL: optional(
    url("http", "https"),
    "URL of an S3 bucket, with an optional prefix, for the archive instead of a folder.",
  ),
  REPRISE_AUDIT_S3_REGION: defaulted("us-east-1", text(), "Region of that store."),
  REPRISE_AUDIT_S3_KEY_ID: optional(text(), "Access key of that store."),
  REPRISE_AUDIT_S3_SECRET: optional(text(), "Secret of that access key."),
  REPRISE_AUDIT_KEYS_DIR: optional(
    text(),
    "Folder of the archive's keys; default `audit-keys` in the data folder. Keep it out of the archive's backups.",
  ),
  REPRISE_AUDIT_MASTER_KEY: optional(
    text(),
    "Key that wraps all others, 32 bytes as base64 or hex, instead of the file.",
  ),
  REPRISE_AUDIT_MASTER_KEY_FILE: optional(
    text(),
    "File with that key; default `master.key` in the folder of keys, created if missing.",
  ),
  REPRISE_AUDIT_SIGNING_KEY_FILE: optional(
    text(),
    "File with the archive's signing key; default `signing.key` in the folder of keys, created if missing.",
  ),
  REPRISE_AUDIT_EARLIER_VKEYS: optional(
    list(text()),
    "Public keys of the archive's earlier signing keys, separated by commas.",
  ),
  REPRISE_AUDIT_WITNESS_URLS: optional(
    list(url("http", "https")),
    "URLs of the witnesses that cosign signed checkpoints, separated by commas.",
  ),
  REPRISE_WITNESS: defaulted(
    "on",
    oneOf(["on", "off"]),
    "`on` or `off`: whether `npm start` runs a witness; it runs none if others are named.",
  ),
  REPRISE_WITNESS_DIR: optional(
    text(),
    "Folder of a witness; default `witness` in the data folder. Use another disk than the archive's.",
  ),
  REPRISE_WITNESS_NAME: defaulted("witness", word(), "Name of a witness and of its key."),
  REPRISE_WITNESS_LOGS: optional(
    list(text()),
    "Public keys of the archives that a witness cosigns, separated by commas; the audit log logs its own (`vkey`).",
  ),
  REPRISE_LOG_LEVEL: defaulted(
    "info",
    oneOf(LOG_LEVELS),
    `Least severe level that is logged: ${LOG_LEVELS.join(", ")}.`,
  ),
  REPRISE_SHARDS: defaulted(
    "4",
    integer(1, 1_000),
    "Number of streams for new generations; existing ones never move.",
  ),
  REPRISE_REPLICAS: defaulted(
    "1",
    oneOf(["1", "3", "5"]).transform(Number),
    "Number of NATS servers that store each stream: 1, 3 or 5.",
  ),
  REPRISE_RETENTION_HOURS: defaulted(
    "24",
    decimal(0.0005, 8_760),
    "How long the live log keeps events, in hours; fractions are for tests.",
  ),
  REPRISE_WORKER_SLOTS: defaulted(
    "256",
    integer(1, 10_000),
    "Generations of each model that a worker runs at once; the models file can override it.",
  ),
  REPRISE_WORKER_MEMORY_MB: defaulted(
    "256",
    integer(8, 1_048_576),
    "MiB of requests that a worker runs at once; a tenant with half of it gets no more jobs.",
  ),
  REPRISE_ACK_WAIT_MS: defaulted(
    "5000",
    integer(500, 600_000),
    "Milliseconds after a worker's last heartbeat until its job goes to another one.",
  ),
  REPRISE_HUB_MEMORY_MB: defaulted(
    "256",
    integer(8, 65_536),
    "MiB of generations in a delivery node's memory.",
  ),
  REPRISE_NICE: optional(
    integer(0, 19),
    "Nice value of analytics (default 10) and the audit log (5), 0 to 19.",
  ),
  REPRISE_DRAIN_MS: defaulted(
    "10000",
    integer(0, 600_000),
    "Milliseconds that a process may take to stop after SIGTERM, in delivery after the notice.",
  ),
  REPRISE_DRAIN_NOTICE_MS: optional(
    integer(0, 600_000),
    "Milliseconds after SIGTERM in which delivery answers 503 to /readyz and serves everything else; default 5000, and 0 in `npm start`.",
  ),
  REPRISE_MAX_CONNECTIONS_PER_ADDRESS: defaulted(
    "1000",
    integer(0, 1_000_000),
    "Open connections to delivery per address; 0 for no limit, behind a proxy that limits them.",
  ),
  REPRISE_TRUSTED_PROXIES: optional(
    list(network()),
    "Proxies in front of delivery, IP addresses or CIDR ranges, separated by commas; `X-Forwarded-For` counts only from them.",
  ),
  REPRISE_ACCESS_LOG: defaulted(
    "on",
    oneOf(["off", "on", "with-address"]),
    "Lines of requests and calls: `on`, `off`, or `with-address` with the client's address (delivery).",
  ),
  REPRISE_TLS_CERT: optional(
    text(),
    "PEM file of the API's certificate, followed by its intermediates; read again every 10 s. Without it the API is plain HTTP.",
  ),
  REPRISE_TLS_KEY: optional(text(), "PEM file of its private key."),
  REPRISE_REQUEST_MEMORY_MB: defaulted(
    "64",
    integer(8, 1_048_576),
    "MiB of request bodies and earlier turns that delivery holds at once; one tenant gets a third at most.",
  ),
  REPRISE_BLOB_TTL_HOURS: defaulted(
    "24",
    decimal(0.02, 720),
    "How long delivery keeps a blob after its last use, in hours, unless its upload says so.",
  ),
  REPRISE_BLOB_TRANSFERS: defaulted(
    "32",
    integer(1, 10_000),
    "Blobs in transfer at a delivery node, about 1 MiB each; one tenant gets a third at most.",
  ),
  REPRISE_MEDIA_URL: optional(url("http", "https"), "URL of delivery for model servers (`media: url`)."),
  REPRISE_MEDIA_FETCH_ALLOW: optional(
    list(host()),
    "Hosts from which delivery fetches https URLs of requests, separated by commas, with a port if it is not 443; `*.example.com` is every host below that name. Default: none.",
  ),
  REPRISE_TOKEN_AUDIENCE: defaulted(
    "reprise",
    audience(),
    "Audience (`aud`) of stream tokens; others are refused.",
  ),
  REPRISE_CORS_ORIGINS: defaulted(
    "*",
    list(origin()),
    "Origins whose pages may call the API, separated by commas; `*` is any.",
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    url("http", "https"),
    "URL of an OpenTelemetry collector; without it there are no traces. The SDK reads its other standard variables too.",
  ),
  REPRISE_TRACE_CONTENT: defaulted(
    "off",
    oneOf(["on", "off"]),
    "Whether workers' spans have models' input and output, 16,384 characters each; erasures do not reach the collector.",
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
