import { type Price, priceSchema } from "@reprise/facts";
import { RepriseError } from "@reprise/protocol";
import type { AnalyticsUsageEnvironment } from "./config.ts";
import { createFileSink } from "./sinks/file-sink.ts";
import { createLagoSink } from "./sinks/lago-sink.ts";
import { parseWebhookSecret, createWebhookSink } from "./sinks/webhook-sink.ts";
import type { UsageSink } from "./sinks/usage-sink.ts";
import { parseConfigFile, readConfigFile } from "@reprise/runtime";
import * as z from "zod";

/** Where usage goes, and what it costs. */
export interface UsageSettings {
  readonly sinks: readonly UsageSink[];
  /** Into the stream of usage too. */
  readonly isStreamed: boolean;
  /** Names the platform, among all that one meter hears of. */
  readonly source: string;
  readonly priceOf: (model: string) => Price | undefined;
}

/** @throws RepriseError `config_invalid` */
export function toUsageSinks(env: AnalyticsUsageEnvironment): UsageSink[] {
  const {
    REPRISE_USAGE_DIR: dir,
    REPRISE_USAGE_WEBHOOK_URL: url,
    REPRISE_USAGE_WEBHOOK_SECRET: secret,
    REPRISE_USAGE_LAGO_URL: lagoUrl,
    REPRISE_USAGE_LAGO_KEY: lagoKey,
    REPRISE_USAGE_LAGO_CODE: code,
  } = env;
  if ((url === undefined) !== (secret === undefined)) {
    const message = "REPRISE_USAGE_WEBHOOK_URL and REPRISE_USAGE_WEBHOOK_SECRET need each other.";
    throw new RepriseError("config_invalid", message);
  }
  if ((lagoUrl === undefined) !== (lagoKey === undefined)) {
    const message = "REPRISE_USAGE_LAGO_URL and REPRISE_USAGE_LAGO_KEY need each other.";
    throw new RepriseError("config_invalid", message);
  }
  const lago = lagoUrl !== undefined && lagoKey !== undefined && { url: lagoUrl, key: lagoKey, code };
  const webhook = url !== undefined && secret !== undefined && { url, key: parseWebhookSecret(secret) };
  return [
    ...(dir === undefined ? [] : [createFileSink(dir)]),
    ...(webhook ? [createWebhookSink(webhook)] : []),
    ...(lago ? [createLagoSink(lago)] : []),
  ];
}

/** By the public name of the model that served. */
export type Prices = ReadonlyMap<string, Price>;

/** The part of the models file that analytics reads; the rest is for the workers. */
const fileSchema = z.looseObject({
  models: z.record(z.string(), z.looseObject({ price: priceSchema.optional() })),
});

/**
 * The prices of a models file.
 * @param path without one no model has a price
 * @throws RepriseError `config_invalid`, when the file can't be read too
 */
export async function loadPrices(path: string | undefined): Promise<Prices> {
  if (path === undefined) return new Map();
  const { models } = parseConfigFile(await readConfigFile(path), { source: path, schema: fileSchema });
  return new Map(
    Object.entries(models).flatMap(([name, { price }]) => (price ? [[name, price] as const] : [])),
  );
}
