import type { Logger, Metrics } from "@reprise/runtime";

const WARN_EVERY_MS = 60_000;

/** Counts connections that are refused because their address has too many open, and logs one line a minute of them at most. */
export function countRefusedConnections({
  logger,
  metrics,
  most,
}: {
  logger: Logger;
  metrics: Metrics;
  most: number;
}): () => void {
  const refused = metrics.counter("reprise_connections_refused_total");
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    refused.inc();
    if (performance.now() < warnedAtMs + WARN_EVERY_MS) return;
    warnedAtMs = performance.now();
    logger.warn({ most }, "connections are refused: their address has too many open");
  };
}
