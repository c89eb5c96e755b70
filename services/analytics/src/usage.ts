import type { Price } from "@reprise/facts";
import { RepriseError } from "@reprise/protocol";
import type { AnalyticsUsageEnvironment } from "./config.ts";
import { createFileSink } from "./sinks/file-sink.ts";
import { createLagoSink } from "./sinks/lago-sink.ts";
import { parseWebhookSecret, createWebhookSink } from "./sinks/webhook-sink.ts";
import type { UsageSink } from "./sinks/usage-sink.ts";

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
