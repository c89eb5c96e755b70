import { REPRISE } from "../conventions/http.ts";

/** Events that say when the first came of what a span waits for. */
const FIRSTS: ReadonlySet<string> = new Set(["first_token", "first_event"]);

/** What decides of a span that has ended. */
export interface SpanOutcome {
  readonly hasFailed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly afterMs: number }[];
}

/**
 * Whether a span makes its trace worth exporting: it has failed, or has waited longer than `slowMs` for a worker, or for the first of what it asked for.
 * @param slowMs 0: no wait is too long
 */
export function isWorthKeeping({ hasFailed, attributes, events }: SpanOutcome, slowMs: number): boolean {
  if (hasFailed) return true;
  if (slowMs === 0) return false;
  const queued = attributes[REPRISE.queueWaitMs];
  if (typeof queued === "number" && queued > slowMs) return true;
  return events.some(({ name, afterMs }) => FIRSTS.has(name) && afterMs > slowMs);
}
