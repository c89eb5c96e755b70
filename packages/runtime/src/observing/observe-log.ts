import type { LogObserver } from "@reprise/stream";
import type { Metrics } from "../http/metrics.ts";

/** Returns the metrics of a service's use of logs. */
export function observeLog(metrics: Metrics, service: string): LogObserver {
  const appendOf = (result: string) => metrics.observer("reprise_append_seconds", { service, result });
  const readOf = (call: string) => metrics.observer("reprise_log_read_seconds", { service, call });
  const appends = {
    stored: appendOf("stored"),
    conflict: appendOf("conflict"),
    unavailable: appendOf("unavailable"),
  };
  const reads = { last: readOf("last"), batch: readOf("batch") };
  return {
    appended: (outcome, ms) => appends[outcome].observe(ms / 1_000),
    checkpointed: (result) => metrics.counter("reprise_checkpoints_total").inc({ result }),
    read: (kind, ms) => reads[kind].observe(ms / 1_000),
  };
}
