import { type Environment, parseEnvironment } from "@reprise/service";

const NAMES = [
  "REPRISE_HOST",
  "REPRISE_OPS_PORT",
  "REPRISE_NATS_URL",
  "REPRISE_CLASSIFIERS_FILE",
  "REPRISE_LOG_LEVEL",
  "REPRISE_SHARDS",
  "REPRISE_REPLICAS",
  "REPRISE_RETENTION_HOURS",
  "REPRISE_DRAIN_MS",
] as const;

export type ModerationEnvironment = Environment<(typeof NAMES)[number]>;

/** @throws RepriseError `config_invalid` */
export function parseModerationEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): ModerationEnvironment {
  return parseEnvironment(env, NAMES);
}
