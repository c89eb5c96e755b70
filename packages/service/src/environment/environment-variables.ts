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
import { defaulted, type DefaultedVariable, optional, type OptionalVariable } from "./variable.ts";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/**
 * Every environment variable that a Reprise process may have. A name that begins with `REPRISE_` and is not here is refused by all of them; one that a
 * service does not use is ignored, so that one file can serve them all. A test compares the table of docs/configuration.md with this one.
 */
export const ENVIRONMENT_VARIABLES = {
  REPRISE_HOST: defaulted("127.0.0.1", text(), "Address that the API binds to."),
  REPRISE_PORT: defaulted("8080", integer(0, 65_535), "Port of the API; 0 takes a free one."),
  REPRISE_OPS_HOST: defaulted(
    "127.0.0.1",
    text(),
    "Address that the port of /healthz, /readyz and /metrics binds to; in Kubernetes `0.0.0.0` or `::`.",
  ),
  REPRISE_OPS_PORT: optional(
    integer(0, 65_535),
    "Port of /healthz, /readyz and /metrics, which are on no other; 0 takes a free one. Without it delivery and `npm start` take 9464, or a free one where REPRISE_PORT is 0, and other services do not serve them.",
  ),
  REPRISE_DATA_DIR: defaulted(
    ".reprise",
    text(),
    "Folder of the platform's own files: the broker's store, dev.json, downloaded binaries.",
  ),
  REPRISE_NATS_URL: optional(
    list(url("nats", "tls")),
    "NATS servers, separated by commas; without it `npm start` runs its own. `tls://` requires TLS; a URL may contain `user:password@` or `token@`.",
  ),
  REPRISE_NATS_USER: optional(secret(), "User name for NATS."),
  REPRISE_NATS_PASSWORD: optional(secret(), "Password of that user."),
  REPRISE_NATS_TOKEN: optional(secret(), "Token for NATS."),
  REPRISE_NATS_CREDS: optional(text(), "File with a user's JWT and seed, as `nsc generate creds` writes it."),
  REPRISE_NATS_NKEY: optional(text(), "File with the seed of a user's nkey."),
  REPRISE_NATS_CA: optional(
    text(),
    "PEM file with the certificate authorities to trust for NATS; requires TLS.",
  ),
  REPRISE_NATS_CERT: optional(text(), "PEM file with the client certificate for NATS; requires TLS."),
  REPRISE_NATS_KEY: optional(text(), "PEM file with the private key of that certificate."),
  REPRISE_NATS_TLS_FIRST: defaulted(
    "off",
    oneOf(["on", "off"]),
    "`on` or `off`; `on` for a nats-server with `handshake_first`, where TLS begins with the first byte.",
  ),
  REPRISE_NATS_SERVER: optional(
    text(),
    "Path of the nats-server binary; without it PATH is searched, then the data folder.",
  ),
  REPRISE_SYNC_INTERVAL: defaulted(
    "2m",
    syncInterval(),
    "How long the nats-server that `npm start` runs may wait before it syncs stored messages to disk; `always` syncs each one.",
  ),
  REPRISE_REDIS_URL: optional(
    url("redis", "rediss"),
    "Redis, in which limits are counted over all delivery nodes, and budgets over these and all workers; without it each process counts alone. `rediss://` for TLS; the URL may contain `user:password@`. [infra/redis](../infra/redis/README.md) writes users with the least permissions.",
  ),
  REPRISE_MODELS_FILE: optional(
    text(),
    "JSON file that maps models to engines; without it `sim` is the only model.",
  ),
  REPRISE_TENANTS_FILE: optional(
    text(),
    "JSON file with tenants, keys and policies; without it `npm start` creates the tenant `demo`.",
  ),
  REPRISE_TENANTS_SOURCE: defaulted(
    "seed",
    oneOf(["seed", "file"]),
    "`seed` or `file`: whether the tenants file creates the tenants that the broker does not have, or owns all of them, so that only the file changes them.",
  ),
  REPRISE_OPERATOR_KEY_SHA256: optional(
    sha256(),
    "Lower-case hex SHA-256 of the operator's key, which administers all tenants; without it only a tenant's own key with the role `admin` administers.",
  ),
  REPRISE_URL: optional(
    url("http", "https"),
    "Where `reprise-admin` finds the API; without it at http://127.0.0.1:8080. Services ignore it.",
  ),
  REPRISE_ADMIN_KEY: optional(
    text(),
    "Key that `reprise-admin` calls the admin API with: the operator's, or one with the role `admin`. Services ignore it.",
  ),
  REPRISE_CLASSIFIERS_FILE: optional(
    text(),
    "JSON file with the classifiers that moderation rules may name; without it there are none.",
  ),
  REPRISE_AUDIT: defaulted(
    "on",
    oneOf(["on", "off"]),
    "`on` or `off`: whether `npm start` runs the audit log. The service itself ignores this.",
  ),
  REPRISE_ANALYTICS: defaulted(
    "on",
    oneOf(["on", "off"]),
    "`on` or `off`: whether `npm start` runs analytics. The service itself ignores this.",
  ),
  REPRISE_ANALYTICS_DIR: optional(
    text(),
    "Folder of the rows that analytics keeps; without it `analytics` in the data folder.",
  ),
  REPRISE_ANALYTICS_S3_URL: optional(
    url("http", "https"),
    "URL of a bucket in an S3-compatible store, with a prefix of its own, for these rows instead of a folder; with the region and the key of `REPRISE_AUDIT_S3_REGION`, `REPRISE_AUDIT_S3_KEY_ID` and `REPRISE_AUDIT_S3_SECRET`.",
  ),
  REPRISE_METRICS_TENANTS: defaulted(
    "100",
    integer(0, 10_000),
    "How many tenants the metrics of analytics and of budgets name: the first ones that a process meets. All others are counted as `other`.",
  ),
  REPRISE_ANALYTICS_KEYS: optional(
    list(metadataKey()),
    "Keys of requests' `metadata` that analytics keeps with each generation, separated by commas. Values are cut behind 64 characters.",
  ),
  REPRISE_USAGE_SOURCE: defaulted(
    "/reprise",
    text(),
    "`source` of the usage events that analytics delivers: names this platform, among all that one meter hears of.",
  ),
  REPRISE_USAGE_DIR: optional(
    text(),
    "Folder in which analytics keeps usage events, as NDJSON, a file for each day.",
  ),
  REPRISE_USAGE_STREAM: defaulted(
    "off",
    oneOf(["on", "off"]),
    "`on` or `off`: whether analytics stores usage events in the stream USAGE of the broker, under `usage.<tenant>`.",
  ),
  REPRISE_USAGE_WEBHOOK_URL: optional(
    url("http", "https"),
    "URL to which analytics posts usage events, signed by the Standard Webhooks specification.",
  ),
  REPRISE_USAGE_WEBHOOK_SECRET: optional(
    secret(),
    "Key of that signature: `whsec_` and 24 to 64 bytes in base64.",
  ),
  REPRISE_USAGE_LAGO_URL: optional(
    url("http", "https"),
    "URL of Lago's API, without `/api/v1`, to which analytics sends usage in Lago's own form. A tenant's name is its `external_subscription_id`.",
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
    "Name of the archive, of its checkpoints and of its signing key.",
  ),
  REPRISE_AUDIT_DIR: optional(text(), "Folder of the archive; without it `audit` in the data folder."),
  REPRISE_AUDIT_S3_URL: optional(
    url("http", "https"),
    "URL of a bucket in an S3-compatible store, with an optional prefix, for the archive instead of a folder.",
  ),
  REPRISE_AUDIT_S3_REGION: defaulted(
    "us-east-1",
    text(),
    "Region in the signatures of requests to that store.",
  ),
  REPRISE_AUDIT_S3_KEY_ID: optional(text(), "Access key of that store."),
  REPRISE_AUDIT_S3_SECRET: optional(text(), "Secret of that access key."),
  REPRISE_AUDIT_KEYS_DIR: optional(
    text(),
    "Folder of the keys that encrypt the archive; without it `audit-keys` in the data folder. Keep it out of the archive's backups.",
  ),
  REPRISE_AUDIT_MASTER_KEY: optional(
    text(),
    "Key that wraps all other keys, 32 bytes as base64 or hex; without it the file is used.",
  ),
  REPRISE_AUDIT_MASTER_KEY_FILE: optional(
    text(),
    "File with that key; without it `master.key` in the folder of the keys, created when it is missing.",
  ),
  REPRISE_AUDIT_SIGNING_KEY_FILE: optional(
    text(),
    "File with the key that signs checkpoints; without it `signing.key` in the folder of the keys, created when it is missing.",
  ),
  REPRISE_AUDIT_EARLIER_VKEYS: optional(
    list(text()),
    "Public keys of earlier signing keys of the archive, separated by commas.",
  ),
  REPRISE_AUDIT_WITNESS_URLS: optional(
    list(url("http", "https")),
    "URLs of the witnesses that cosign checkpoints, separated by commas.",
  ),
  REPRISE_WITNESS: defaulted(
    "on",
    oneOf(["on", "off"]),
    "`on` or `off`: whether `npm start` runs a witness of its audit log as a process of its own. It runs none where other witnesses are named.",
  ),
  REPRISE_WITNESS_DIR: optional(
    text(),
    "Folder of a witness: its key and the checkpoints it has seen; without it `witness` in the data folder. Use another disk than the archive's.",
  ),
  REPRISE_WITNESS_NAME: defaulted("witness", word(), "Name of a witness and of its key."),
  REPRISE_WITNESS_LOGS: optional(
    list(text()),
    "Public keys of the archives that a witness cosigns, separated by commas; the audit log logs its own as `vkey` when it starts.",
  ),
  REPRISE_LOG_LEVEL: defaulted(
    "info",
    oneOf(LOG_LEVELS),
    `Least severe level that is logged: ${LOG_LEVELS.join(", ")}.`,
  ),
  REPRISE_SHARDS: defaulted(
    "4",
    integer(1, 1_000),
    "How many streams new generations are spread over; existing generations never move.",
  ),
  REPRISE_REPLICAS: defaulted(
    "1",
    oneOf(["1", "3", "5"]).transform(Number),
    "How many NATS servers store each stream: 1, 3 or 5.",
  ),
  REPRISE_RETENTION_HOURS: defaulted(
    "24",
    decimal(0.0005, 8_760),
    "How long the live log keeps a generation's events, in hours; fractions are for tests.",
  ),
  REPRISE_WORKER_SLOTS: defaulted(
    "256",
    integer(1, 10_000),
    "How many generations of each model one inference-worker runs at once; the models file can override it per model.",
  ),
  REPRISE_WORKER_MEMORY_MB: defaulted(
    "256",
    integer(8, 1_048_576),
    "MiB of requests that one inference-worker runs at once, over all models; at the limit it takes no more jobs, and none of a tenant whose requests take half of it.",
  ),
  REPRISE_ACK_WAIT_MS: defaulted(
    "5000",
    integer(500, 600_000),
    "Milliseconds after a worker's last heartbeat until its job goes to another worker.",
  ),
  REPRISE_HUB_MEMORY_MB: defaulted(
    "256",
    integer(8, 65_536),
    "MiB of generations that one delivery node keeps in memory.",
  ),
  REPRISE_NICE: optional(
    integer(0, 19),
    "How far analytics or the audit log gives way to other processes of its machine, 0 to 19; without it 10 in analytics and 5 in the audit log.",
  ),
  REPRISE_DRAIN_MS: defaulted(
    "10000",
    integer(0, 600_000),
    "Milliseconds that a process may take to stop after SIGTERM; in delivery they begin after the notice.",
  ),
  REPRISE_DRAIN_NOTICE_MS: optional(
    integer(0, 600_000),
    "Milliseconds after SIGTERM in which delivery answers 503 to /readyz and still serves everything else; without it 5000, and 0 in `npm start`.",
  ),
  REPRISE_MAX_CONNECTIONS_PER_ADDRESS: defaulted(
    "1000",
    integer(0, 1_000_000),
    "How many connections to delivery one address may have open; 0 for no limit, for use behind a proxy that limits them.",
  ),
  REPRISE_TRUSTED_PROXIES: optional(
    list(network()),
    "Proxies in front of delivery, as IP addresses or CIDR ranges, separated by commas; `X-Forwarded-For` counts only from them. Without it the client's address is the connection's.",
  ),
  REPRISE_ACCESS_LOG: defaulted(
    "on",
    oneOf(["off", "on", "with-address"]),
    "Whether a line is logged for each request when its answer is over, by delivery, the audit log and analytics (of calls) and the witness: `off`, `on`, or `with-address`, which adds the client's address in delivery.",
  ),
  REPRISE_TLS_CERT: optional(
    text(),
    "PEM file with the certificate that the API speaks TLS with, and those between it and its authority behind it; read again every 10 s. Without it the API is plain HTTP.",
  ),
  REPRISE_TLS_KEY: optional(text(), "PEM file with the private key of that certificate."),
  REPRISE_REQUEST_MEMORY_MB: defaulted(
    "64",
    integer(8, 1_048_576),
    "MiB of request bodies, and of what turns of conversations have before them, that delivery holds at once; one tenant gets a third at most.",
  ),
  REPRISE_BLOB_TTL_HOURS: defaulted(
    "24",
    decimal(0.02, 720),
    "How long delivery keeps a blob behind its last use, in hours, where its upload does not say so.",
  ),
  REPRISE_BLOB_TRANSFERS: defaulted(
    "32",
    integer(1, 10_000),
    "How many blobs one delivery node takes and sends at once, each with about 1 MiB of memory; one tenant gets a third at most.",
  ),
  REPRISE_MEDIA_URL: optional(url("http", "https"), "Where model servers reach delivery, for `media: url`."),
  REPRISE_MEDIA_FETCH_ALLOW: optional(
    list(host()),
    "Hosts that delivery fetches the https URLs in requests from, separated by commas, each with a port if it is not 443; `*.example.com` is every host below that name. Without it nothing is fetched.",
  ),
  REPRISE_TOKEN_AUDIENCE: defaulted(
    "reprise",
    audience(),
    "The audience (`aud`) that stream tokens for this platform name; one that names another is refused.",
  ),
  REPRISE_CORS_ORIGINS: defaulted(
    "*",
    list(origin()),
    "Origins whose pages may call the API, separated by commas; `*` is any.",
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    url("http", "https"),
    "URL of an OpenTelemetry collector; without it nothing is traced. The SDK reads its other standard variables too.",
  ),
  REPRISE_TRACE_CONTENT: defaulted(
    "off",
    oneOf(["on", "off"]),
    "Whether workers' spans have what models are asked and what they say, 16,384 characters of each; an erasure does not reach what the collector has.",
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
