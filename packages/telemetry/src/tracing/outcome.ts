import { REPRISE } from "../conventions/http.ts";

/** Events that say when the first came of what a span waits for. */
const FIRSTS: ReadonlySet<string> = new Set(["first_token", "first_event"]);

/** What decides of a span that has ended. */
export interface SpanOutcome {
  readonly hasFailed: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly afterMs: number }[];
}

/** Waits of which a span says how long they were. */
const WAITS = [REPRISE.queueWaitMs, REPRISE.answerMs];

/** A pause of an engine from which on a reader thinks that nothing comes any more; `STALL_US` of `packages/metering`. */
const STALL_MS = 2_000;

/**
 * Whether a span makes its trace worth exporting: it has failed; has waited longer than `slowMs` for a worker, for the first of what it asked for, or for the answer of a call that is no stream; or its engine has
 * paused for longer than a stall.
 * @param slowMs 0: no wait is too long, and no pause either
 */
export function isWorthKeeping({ hasFailed, attributes, events }: SpanOutcome, slowMs: number): boolean {
  if (hasFailed) return true;
  if (slowMs === 0) return false;
  const isOver = (name: string, limitMs: number) => Number(attributes[name] ?? 0) > limitMs;
  if (WAITS.some((name) => isOver(name, slowMs)) || isOver(REPRISE.longestWaitMs, STALL_MS)) return true;
  return events.some(({ name, afterMs }) => FIRSTS.has(name) && afterMs > slowMs);
}
