import {
  BROKER_SERVICE_NAMES,
  type Environment,
  modelName,
  parseConfigFile,
  parseEnvironment,
  readConfigFile,
  topologyOf,
} from "@reprise/runtime";
import * as z from "zod";
import {
  capabilitiesOf,
  capabilitiesSchema,
  contextTokensSchema,
  DIALECTS,
  RepriseError,
  type ServedBy,
  SIM_CAPABILITIES,
} from "@reprise/protocol";
import type { CertificateFiles } from "./connections/certificate.ts";
import type { AccessLogMode } from "./telemetry/access-log.ts";

const NAMES = [
  ...BROKER_SERVICE_NAMES,
  "REPRISE_HOST",
  "REPRISE_PORT",
  "REPRISE_GRPC_PORT",
  "REPRISE_MODELS_FILE",
  "REPRISE_TENANTS_FILE",
  "REPRISE_TENANTS_SOURCE",
  "REPRISE_OPERATOR_KEY_SHA256",
  "REPRISE_CLASSIFIERS_FILE",
  "REPRISE_REDIS_URL",
  "REPRISE_METRICS_TENANTS",
  "REPRISE_HUB_MEMORY_MB",
  "REPRISE_MAX_CONNECTIONS_PER_ADDRESS",
  "REPRISE_TRUSTED_PROXIES",
  "REPRISE_ACCESS_LOG",
  "REPRISE_TLS_CERT",
  "REPRISE_TLS_KEY",
  "REPRISE_REQUEST_MEMORY_MB",
  "REPRISE_BLOB_TTL_HOURS",
  "REPRISE_BLOB_TRANSFERS",
  "REPRISE_MEDIA_FETCH_ALLOW",
  "REPRISE_CORS_ORIGINS",
  "REPRISE_TOKEN_AUDIENCE",
  "REPRISE_DRAIN_NOTICE_MS",
] as const;

/** Load balancers and kube-proxies hear within this time that a node is to get no more requests. */
export const DRAIN_NOTICE_MS = 5_000;

const NEEDED = ["REPRISE_NATS_URL"] as const;

export type DeliveryEnvironment = Environment<(typeof NAMES)[number], (typeof NEEDED)[number]>;

/** @throws RepriseError `config_invalid` */
export function parseDeliveryEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): DeliveryEnvironment {
  return parseEnvironment(env, NAMES, NEEDED);
}

/** Settings of a delivery node. */
export interface DeliverySettings {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Port of gRPC in the clear; 0 takes a free one. Default: there is none. */
  grpcPort?: number | undefined;
  shards: number;
  /** Milliseconds that logs are kept. The rules that logs name must be kept longer. */
  retentionMs: number;
  /** Copies that the broker keeps of the keys for stream tokens. */
  replicas: number;
  /** Memory for events of the generations that this node serves. */
  hubBytes: number;
  /** The most connections that one address may have open; 0 for no bound. */
  maxConnectionsPerAddress: number;
  /** Addresses and ranges of the proxies whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[];
  /** Which requests are logged, one line for each. */
  accessLog: AccessLogMode;
  /** The certificate that the API speaks TLS with; undefined: plain HTTP. */
  tls?: CertificateFiles | undefined;
  /** Bytes of request bodies that this node works on at a time. */
  requestBytes: number;
  /** Seconds that a blob is kept if its upload does not set them. Default a day. */
  blobTtlSeconds?: number;
  /** Blobs that this node takes and sends at a time. Default 32. */
  blobTransfers?: number;
  /** Hosts that https URLs in requests are fetched from, as the environment has them. Default: none. */
  mediaFetchAllow?: readonly string[] | undefined;
  /** Redis, in which limits are counted over all nodes; undefined where this node counts alone. */
  redisUrl: string | undefined;
  /** Number of tenants that metrics name. Default 100. */
  metricTenants?: number;
  /** Origins whose pages may call the API; `*` for any. */
  corsOrigins: readonly string[];
  /** Audience (`aud`) that stream tokens for this platform name. */
  tokenAudience: string;
}

type SettingName =
  | "HOST"
  | "PORT"
  | "GRPC_PORT"
  | "SHARDS"
  | "REPLICAS"
  | "RETENTION_HOURS"
  | "HUB_MEMORY_MB"
  | "MAX_CONNECTIONS_PER_ADDRESS"
  | "TRUSTED_PROXIES"
  | "ACCESS_LOG"
  | "TLS_CERT"
  | "TLS_KEY"
  | "REQUEST_MEMORY_MB"
  | "BLOB_TTL_HOURS"
  | "BLOB_TRANSFERS"
  | "MEDIA_FETCH_ALLOW"
  | "REDIS_URL"
  | "METRICS_TENANTS"
  | "CORS_ORIGINS"
  | "TOKEN_AUDIENCE";

/** @throws RepriseError `config_invalid` where one of the two files is missing, or gRPC in the clear would be beside TLS */
export function toDeliverySettings(
  env: Pick<DeliveryEnvironment, `REPRISE_${SettingName}`>,
): DeliverySettings {
  return {
    host: env.REPRISE_HOST,
    port: env.REPRISE_PORT,
    grpcPort: env.REPRISE_GRPC_PORT,
    shards: env.REPRISE_SHARDS,
    retentionMs: topologyOf(env).retentionMs,
    replicas: env.REPRISE_REPLICAS,
    hubBytes: env.REPRISE_HUB_MEMORY_MB * 1_024 * 1_024,
    maxConnectionsPerAddress: env.REPRISE_MAX_CONNECTIONS_PER_ADDRESS,
    trustedProxies: env.REPRISE_TRUSTED_PROXIES ?? [],
    accessLog: env.REPRISE_ACCESS_LOG,
    tls: certificateFilesOf(env),
    requestBytes: env.REPRISE_REQUEST_MEMORY_MB * 1_024 * 1_024,
    blobTtlSeconds: Math.round(env.REPRISE_BLOB_TTL_HOURS * 3_600),
    blobTransfers: env.REPRISE_BLOB_TRANSFERS,
    mediaFetchAllow: env.REPRISE_MEDIA_FETCH_ALLOW,
    redisUrl: env.REPRISE_REDIS_URL,
    metricTenants: env.REPRISE_METRICS_TENANTS,
    corsOrigins: env.REPRISE_CORS_ORIGINS,
    tokenAudience: env.REPRISE_TOKEN_AUDIENCE,
  };
}

function certificateFilesOf({
  REPRISE_TLS_CERT: cert,
  REPRISE_TLS_KEY: key,
  REPRISE_GRPC_PORT: grpcPort,
}: Pick<DeliveryEnvironment, `REPRISE_${"TLS_CERT" | "TLS_KEY" | "GRPC_PORT"}`>):
  | CertificateFiles
  | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (grpcPort !== undefined)
    throw new RepriseError(
      "config_invalid",
      "With TLS, gRPC is at REPRISE_PORT: leave REPRISE_GRPC_PORT out.",
    );
  if (cert !== undefined && key !== undefined) return { cert, key };
  throw new RepriseError("config_invalid", "TLS needs both REPRISE_TLS_CERT and REPRISE_TLS_KEY.");
}

const classifierNamesSchema = z.looseObject({ classifiers: z.record(z.string(), z.unknown()) });

/**
 * Loads the names in a classifiers file; their definitions belong to moderation. Without a file no names are known.
 * @throws RepriseError `config_invalid`
 */
export async function loadClassifierNames(
  path: string | undefined,
): Promise<ReadonlySet<string> | undefined> {
  if (path === undefined) return undefined;
  const { classifiers } = parseConfigFile(await readConfigFile(path), {
    source: path,
    schema: classifierNamesSchema,
  });
  return new Set(Object.keys(classifiers));
}

const modelNamesSchema = z.looseObject({ models: z.record(modelName, z.unknown()) });

/**
 * Loads the public names in a models file; the workers interpret the rest. Without a file there is only the simulator.
 * @throws RepriseError `config_invalid`
 */
export async function loadModelNames(path: string | undefined): Promise<ReadonlySet<string>> {
  if (path === undefined) return new Set(["sim"]);
  const { models } = parseConfigFile(await readConfigFile(path), { source: path, schema: modelNamesSchema });
  return new Set(Object.keys(models));
}

const capabilities = capabilitiesSchema.optional();
const contextTokens = contextTokensSchema.optional();

/** The file's other fields belong to the workers. */
const servedSchema = z.looseObject({
  models: z.record(
    z.string(),
    z.discriminatedUnion("engine", [
      z.looseObject({
        engine: z.enum(["sim", "command", "realtime"]),
        capabilities,
        context_tokens: contextTokens,
      }),
      z.looseObject({
        engine: z.literal("openai"),
        dialect: z.enum(DIALECTS).default("openai"),
        capabilities,
        context_tokens: contextTokens,
      }),
    ]),
  ),
});

/**
 * Loads the capabilities of the models in a models file. Without a file there is only the simulator.
 * @throws RepriseError `config_invalid`
 */
export async function loadServedModels(path: string | undefined): Promise<ReadonlyMap<string, ServedBy>> {
  if (path === undefined) return new Map([["sim", { engine: "sim", capabilities: SIM_CAPABILITIES }]]);
  const { models } = parseConfigFile(await readConfigFile(path), { source: path, schema: servedSchema });
  return new Map(
    Object.entries(models).map(([name, model]) => {
      const { engine } = model;
      const kind = engine === "openai" ? model.dialect : engine === "sim" ? undefined : engine;
      return [
        name,
        {
          engine,
          capabilities: capabilitiesOf(kind, model.capabilities),
          contextTokens: model.context_tokens,
        },
      ];
    }),
  );
}
