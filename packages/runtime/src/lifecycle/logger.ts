import {
  destination as openDestination,
  type DestinationStream,
  type Logger,
  pino,
  stdTimeFunctions,
} from "pino";
import type { LOG_LEVELS } from "../environment/environment-variables.ts";

export type { Logger } from "pino";
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  /** `service` in every line. */
  service: string;
  level?: LogLevel;
  /** Default: stdout. */
  destination?: DestinationStream;
}

/** Fields that may hold a key: replaced in the first two levels of a logged object. */
const SECRET_FIELDS = ["authorization", "cookie", "api_key", "apiKey", "secret", "token", "password"];
const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.headers.${field}`]);

/**
 * Creates a logger of JSON lines, written before the call returns, so that the last words of a process that is killed arrive. That costs some ten
 * microseconds a line: nothing is logged once per event or per token.
 *
 * Redaction, of such fields and of credentials in URLs, is the second line of defence. The first: prompts, outputs and keys are never handed to a logger;
 * a line holds ids, counts, durations and codes.
 */
export function createLogger({ service, level = "info", destination = openStdout() }: LoggerOptions): Logger {
  const options = {
    level,
    base: { service },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_PATHS, censor: "[redacted]" },
    hooks: { streamWrite: redactCredentials },
  };
  return pino(options, destination);
}

/** Matches `user:password@` and `token@` of URLs in a text. A password may hold any sign but `/`, blanks and quotes. */
const IN_URL = /:\/\/[^\s/"'\\]*@/g;

/** Replaces the credentials of the URLs in a text. */
export function redactCredentials(text: string): string {
  return text.includes("://") ? text.replaceAll(IN_URL, "://[redacted]@") : text;
}

function openStdout(): DestinationStream {
  return openDestination({ dest: process.stdout.fd, sync: true });
}
