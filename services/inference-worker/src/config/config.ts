import { BROKER_SERVICE_NAMES, type Environment, parseEnvironment } from "@reprise/runtime";

const NAMES = [
  ...BROKER_SERVICE_NAMES,
  "REPRISE_MODELS_FILE",
  "REPRISE_WORKER_SLOTS",
  "REPRISE_WORKER_MEMORY_MB",
  "REPRISE_ACK_WAIT_MS",
  "REPRISE_REDIS_URL",
  "REPRISE_METRICS_TENANTS",
  "REPRISE_MEDIA_URL",
] as const;

export type WorkerEnvironment = Environment<(typeof NAMES)[number], "REPRISE_NATS_URL">;

/** @throws RepriseError `config_invalid` */
export function parseWorkerEnvironment(env: Readonly<Record<string, string | undefined>>): WorkerEnvironment {
  return parseEnvironment(env, NAMES, ["REPRISE_NATS_URL"]);
}

/** Parses the environment into a worker's settings. */
export function toWorkerSettings(
  env: Pick<
    WorkerEnvironment,
    | "REPRISE_ACK_WAIT_MS"
    | "REPRISE_WORKER_MEMORY_MB"
    | "REPRISE_REDIS_URL"
    | "REPRISE_METRICS_TENANTS"
    | "REPRISE_MEDIA_URL"
  >,
) {
  return {
    ackWaitMs: env.REPRISE_ACK_WAIT_MS,
    memoryBytes: env.REPRISE_WORKER_MEMORY_MB * 1_024 * 1_024,
    redisUrl: env.REPRISE_REDIS_URL,
    metricTenants: env.REPRISE_METRICS_TENANTS,
    mediaUrl: env.REPRISE_MEDIA_URL,
  };
}
