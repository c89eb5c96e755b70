import { BROKER_SERVICE_NAMES, type Environment, parseEnvironment } from "@reprise/runtime";

const NAMES = [...BROKER_SERVICE_NAMES, "REPRISE_CLASSIFIERS_FILE"] as const;

export type ModerationEnvironment = Environment<(typeof NAMES)[number], "REPRISE_NATS_URL">;

/** @throws RepriseError `config_invalid` */
export function parseModerationEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): ModerationEnvironment {
  return parseEnvironment(env, NAMES, ["REPRISE_NATS_URL"]);
}
