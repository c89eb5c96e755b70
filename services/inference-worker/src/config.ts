import { type Environment, parseEnvironment } from "@reprise/service";

const NAMES = [
  "REPRISE_HOST",
  "REPRISE_OPS_PORT",
  "REPRISE_NATS_URL",
  "REPRISE_MODELS_FILE",
  "REPRISE_LOG_LEVEL",
  "REPRISE_SHARDS",
  "REPRISE_REPLICAS",
  "REPRISE_RETENTION_HOURS",
  "REPRISE_WORKER_SLOTS",
  "REPRISE_ACK_WAIT_MS",
  "REPRISE_DRAIN_MS",
] as const;

export type WorkerEnvironment = Environment<(typeof NAMES)[number]>;

/** @throws RepriseError `config_invalid` */
export function parseWorkerEnvironment(env: Readonly<Record<string, string | undefined>>): WorkerEnvironment {
  return parseEnvironment(env, NAMES);
}
