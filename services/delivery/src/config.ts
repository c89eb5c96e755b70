import { readFile } from "node:fs/promises";
import { encodeModelName, RepriseError } from "@reprise/protocol";
import { type Environment, parseEnvironment } from "@reprise/service";
import * as z from "zod";

const NAMES = [
  "REPRISE_HOST",
  "REPRISE_PORT",
  "REPRISE_NATS_URL",
  "REPRISE_MODELS_FILE",
  "REPRISE_TENANTS_FILE",
  "REPRISE_LOG_LEVEL",
  "REPRISE_SHARDS",
  "REPRISE_REPLICAS",
  "REPRISE_RETENTION_HOURS",
  "REPRISE_HUB_MEMORY_MB",
  "REPRISE_DRAIN_MS",
  "REPRISE_CORS_ORIGINS",
] as const;

export type DeliveryEnvironment = Environment<(typeof NAMES)[number]>;

/** @throws RepriseError `config_invalid` */
export function parseDeliveryEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): DeliveryEnvironment {
  return parseEnvironment(env, NAMES);
}

const modelNamesSchema = z.looseObject({ models: z.record(z.string(), z.unknown()) });

/**
 * The public names in a models file; what stands behind them is the worker's business. Without a file there is the simulator.
 * @throws RepriseError `config_invalid`
 */
export async function loadModelNames(path: string | undefined): Promise<ReadonlySet<string>> {
  if (path === undefined) return new Set(["sim"]);
  try {
    const { models } = modelNamesSchema.parse(JSON.parse(await readFile(path, "utf8")));
    for (const name of Object.keys(models)) encodeModelName(name);
    return new Set(Object.keys(models));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RepriseError("config_invalid", `${path} is not a models file: ${why}`, {
      param: "REPRISE_MODELS_FILE",
      cause,
    });
  }
}
