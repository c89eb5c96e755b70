import { type ErrorCode, toRepriseError } from "@reprise/protocol";
import type { DependencyWatches } from "./dependency-watch.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "../http/metrics.ts";

export interface ErrorLogOptions {
  readonly logger: Logger;
  /** The line for errors after which the work is tried again. */
  readonly waits: string;
  /** The line for all other errors. */
  readonly failed: string;
  /** Counts what the broker holds and no part of the platform writes. */
  readonly metrics?: Metrics | undefined;
  /** An error that a dependency's absence explains gets no line, as the absence has one already. */
  readonly watches: Pick<DependencyWatches, "explains">;
}

interface Gathered {
  readonly error: unknown;
  times: number;
}

const GATHER_MS = 10_000;
/** Covers all gathered errors, and requests from before the broker was back, which fail when their time is over. */
const EXPLAINED_MS = 2 * GATHER_MS;

/**
 * Logs what a service's background work throws: a defect at once, an error after which it is tried again in one line per 10 s and code,
 * with how often it has come.
 */
export function createErrorLog({
  logger,
  waits,
  failed,
  watches,
  metrics,
}: ErrorLogOptions): (error: unknown) => void {
  const malformed = metrics?.counter("reprise_malformed_messages_total");
  const gathered = new Map<ErrorCode, Gathered>();
  const tell = (code: ErrorCode, { error, times }: Gathered) => {
    gathered.delete(code);
    if (!watches.explains(code, EXPLAINED_MS)) logger.warn({ err: error, times }, waits);
  };
  return (error) => {
    const { code, retryable } = toRepriseError(error);
    if (code === "protocol_violation") malformed?.inc();
    if (!retryable) return logger.error({ err: error }, failed);
    const known = gathered.get(code);
    if (known) known.times++;
    else {
      const first = { error, times: 1 };
      gathered.set(code, first);
      setTimeout(() => tell(code, first), GATHER_MS).unref();
    }
  };
}
