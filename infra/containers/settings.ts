/** Variables of services that are made at the first start, or that depends on the profile. docker-compose.yml says the rest. */
export interface Project {
  readonly servers: readonly string[];
  readonly redisUrls: { readonly delivery: string; readonly worker: string } | undefined;
  readonly s3: { readonly keyId: string; readonly secret: string } | undefined;
  readonly hasCollector: boolean;
  readonly operatorKeySha256: string;
  /** The archive's public key. */
  readonly vkey: string;
}

export type Settings = Readonly<Record<string, string>>;

/** In the S3-compatible store, with a prefix for each that uses it. */
export const BUCKET = "reprise";
const STORE_URL = `http://s3:7070/${BUCKET}`;

/** By service; names and values go into an environment file, which Node reads (`--env-file`). */
export function settingsOf(project: Project): Readonly<Record<string, Settings>> {
  const { servers, redisUrls, s3, operatorKeySha256, vkey } = project;
  const broker = {
    REPRISE_NATS_URL: servers.map((server) => `tls://${server}:4222`).join(","),
    REPRISE_REPLICAS: String(servers.length),
  };
  const shared = {
    ...broker,
    ...(project.hasCollector && { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }),
  };
  const store = s3 && { REPRISE_AUDIT_S3_KEY_ID: s3.keyId, REPRISE_AUDIT_S3_SECRET: s3.secret };
  return {
    "set-up": broker,
    delivery: {
      ...shared,
      REPRISE_OPERATOR_KEY_SHA256: operatorKeySha256,
      ...(redisUrls && { REPRISE_REDIS_URL: redisUrls.delivery }),
    },
    "inference-worker": { ...shared, ...(redisUrls && { REPRISE_REDIS_URL: redisUrls.worker }) },
    moderation: shared,
    "audit-log": {
      ...shared,
      ...(store && { REPRISE_AUDIT_S3_URL: `${STORE_URL}/archive`, ...store }),
    },
    analytics: { ...shared, ...(store && { REPRISE_ANALYTICS_S3_URL: `${STORE_URL}/rows`, ...store }) },
    witness: { REPRISE_WITNESS_LOGS: vkey },
  };
}
