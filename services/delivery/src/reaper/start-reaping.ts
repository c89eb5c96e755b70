import type { Broker } from "@reprise/broker";
import type { Logger, Metrics } from "@reprise/runtime";
import { announceEnd, type GenerationLog, type Hub } from "@reprise/stream";
import type { WaitedUntil } from "./inspect.ts";
import { LostJobs } from "./lost-jobs.ts";
import { Reaper } from "./reaper.ts";
import { reapedFault } from "./terminal-event.ts";

export interface ReapingOptions {
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly hub: Pick<Hub, "openCaches">;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For how long a presence record counts. Default `PRESENCE_LEASE_MS`. */
  readonly readerLeaseMs?: number | undefined;
  readonly waitedUntil: WaitedUntil | undefined;
}

/** Begins to end overdue generations and to queue lost jobs again. */
export function startReaping(options: ReapingOptions): { close(): Promise<void> } {
  const { broker, log, hub, logger, metrics, readerLeaseMs, waitedUntil } = options;
  const reaped = metrics.counter("reprise_generations_reaped_total");
  const reaper = new Reaper({
    broker,
    log,
    logger,
    leaseMs: readerLeaseMs,
    waitedUntil,
    onEnded(reason, ref) {
      reaped.inc({ reason, fault: reapedFault(reason) });
      announceEnd(broker.main, ref);
    },
  });
  const lostJobs = new LostJobs({ broker, log, logger, openCaches: () => hub.openCaches });
  return {
    async close() {
      await Promise.all([reaper.close(), lostJobs.close()]);
    },
  };
}
