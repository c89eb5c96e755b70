import type { Logger, Metrics } from "@reprise/runtime";
import type { LostMessages } from "./lanes/lane-progress.ts";
import type { LostLogs } from "./lanes/log-lane.ts";

/** Generations that a line names. */
const MOST_NAMED = 50;
const US_PER_MS = 1_000;

/** Counts what expired before analytics read it, and says in one line per commit what and where: usage is missing. */
export class Losses {
  readonly #logger: Logger;
  readonly #lost: ReturnType<Metrics["counter"]>;

  constructor(metrics: Metrics, logger: Logger) {
    this.#logger = logger;
    this.#lost = metrics.counter("reprise_analytics_lost_total");
    // From 0 on: the first loss is growth too.
    for (const what of ["events", "generations", "records"]) this.#lost.inc({ what }, 0);
  }

  ofLogs(stream: string, { generations, ...lost }: LostLogs): void {
    if (lost.messages === 0 && generations.length === 0) return;
    this.#lost.inc({ what: "events" }, lost.messages);
    this.#lost.inc({ what: "generations" }, generations.length);
    this.#logger.error(
      {
        stream,
        ...describe(lost),
        generations: generations.length,
        incomplete: generations.slice(0, MOST_NAMED),
      },
      "events expired before analytics read them: usage is missing",
    );
  }

  /** Reports a loss of OPS messages. */
  ofDeliveries(stream: string, lost: LostMessages): void {
    if (lost.messages === 0) return;
    this.#lost.inc({ what: "records" }, lost.messages);
    this.#logger.error(
      { stream, ...describe(lost) },
      "records expired before analytics read them: how generations were delivered is missing",
    );
  }
}

function describe({ messages, gaps, afterUs, beforeUs }: LostMessages) {
  return {
    messages,
    gaps,
    ...(afterUs !== undefined && { after: toTime(afterUs) }),
    ...(beforeUs !== undefined && { before: toTime(beforeUs) }),
  };
}

function toTime(us: number): string {
  return new Date(us / US_PER_MS).toISOString();
}
