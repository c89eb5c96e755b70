import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import type { LOG_LEVELS } from "./environment-variables.ts";

export type { Logger } from "pino";
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  /** Stands in every line as `service`. */
  service: string;
  level?: LogLevel;
  /** Default: stdout. */
  destination?: DestinationStream;
}

/** Fields that may hold a key: replaced wherever they stand in the first two levels of what is logged. */
const SECRET_FIELDS = ["authorization", "cookie", "api_key", "apiKey", "secret", "token", "password"];
const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.headers.${field}`]);

/**
 * JSON lines, written without blocking the event loop, and flushed when the process ends by itself. Whoever ends it by a signal
 * calls `flush` first.
 *
 * Redaction is the second line of defence. The first: prompts, outputs and keys are never handed to a logger; what stands in a
 * line is ids, counts, durations and codes.
 */
export function createLogger({ service, level = "info", destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: { service },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_PATHS, censor: "[redacted]" },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
