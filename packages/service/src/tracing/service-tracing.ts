import { randomUUID } from "node:crypto";
import { openTracing, type Tracing } from "@reprise/telemetry";
import * as z from "zod";
import { parseConfigFile, readConfigFile } from "../environment/config-file.ts";
import type { Environment } from "../environment/environment.ts";

/** What every service that makes spans is told by its environment. */
export const TRACING_NAMES = [
  "REPRISE_OTLP_URL",
  "REPRISE_OTLP_HEADERS_FILE",
  "REPRISE_TRACE_SAMPLE",
  "REPRISE_TRACE_SAMPLE_TENANTS",
  "REPRISE_TRACE_SLOW_MS",
  "REPRISE_TRACE_CONTENT",
] as const;

interface LineLog {
  warn(fields: object, line: string): void;
  info(fields: object, line: string): void;
}

const headersSchema = z.record(
  z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of an HTTP header"),
  z.string().regex(/^[\x20-\x7e]{1,4096}$/, "must be 1 to 4096 visible ASCII characters"),
);

/**
 * The tracing of a process. It is disposed of last: what is sent then is what the process did at its end.
 * @param name of the service; its spans have it behind `reprise-`
 * @throws RepriseError `config_invalid`
 */
export async function openServiceTracing(
  name: string,
  env: Environment<(typeof TRACING_NAMES)[number]>,
  logger: LineLog,
): Promise<Tracing> {
  const { REPRISE_OTLP_HEADERS_FILE: file } = env;
  const headers =
    file === undefined
      ? undefined
      : parseConfigFile(await readConfigFile(file), { source: file, schema: headersSchema, isSecret: true });
  return openTracing({
    url: env.REPRISE_OTLP_URL,
    service: `reprise-${name}`,
    instance: randomUUID(),
    headers,
    sample: env.REPRISE_TRACE_SAMPLE,
    sampleOfTenant: new Map(env.REPRISE_TRACE_SAMPLE_TENANTS),
    slowMs: env.REPRISE_TRACE_SLOW_MS,
    recordsContent: env.REPRISE_TRACE_CONTENT === "on",
    onAway: (error) =>
      logger.warn({ problem: messageOf(error) }, "the collector takes no spans: they are dropped"),
    onBack: ({ dropped }) => logger.info({ dropped }, "the collector takes spans again"),
  });
}

/** The exporter's errors hold the collector's answer too, which is not repeated. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : "no reason was given";
}
