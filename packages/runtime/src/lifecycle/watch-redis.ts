import type { DependencyWatches } from "./dependency-watch.ts";

export interface RedisWatch {
  /** Redis does not answer. */
  readonly onAway: (error: unknown) => void;
  readonly onBack: () => void;
}

export interface RedisWatchOptions {
  /** Undefined: the process counts alone, and there is nothing to watch. */
  readonly redisUrl: string | undefined;
  /** The service's behaviour while Redis does not answer. */
  readonly alone: string;
  /** The service's behaviour when Redis is back. */
  readonly together: string;
}

/** Watches Redis for a service that continues without it. */
export function watchRedis(
  watches: DependencyWatches,
  { redisUrl, alone, together }: RedisWatchOptions,
): RedisWatch {
  if (redisUrl === undefined) return { onAway: () => {}, onBack: () => {} };
  const watch = watches.add({
    name: "redis",
    gone: `Redis does not answer: ${alone}`,
    back: `Redis answers again: ${together}`,
    reports: "changes",
  });
  return { onAway: (error) => watch.failed(reasonOf(error)), onBack: () => watch.worked() };
}

/** Where a name has several addresses, Node's error has an empty message and one error for each of them. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
