import { DEFAULT_TARGETS, type Targets } from "@reprise/facts";
import {
  ANALYTICS_LIMITS,
  type AnalyticsCall,
  type ParsedAnalyticsRequest,
  RepriseError,
} from "@reprise/protocol";
import type { RowQuery } from "../facts/row-source.ts";
import { assertMeasured } from "./dimensions.ts";

const US_PER_MS = 1_000;
const DAY_MS = 86_400_000;

/** Rows that one question may read: more is refused before any is read. */
const MOST_ROWS = 1_000_000;

type Common = Pick<
  ParsedAnalyticsRequest<AnalyticsCall>,
  "tenant" | "from" | "to" | "model" | "status" | "metadata"
>;

/** @throws RepriseError `invalid_request` for a time that is too long, or none, and for metadata that is not measured */
export function toRowQuery(
  { tenant, from, to, model, status, metadata = {} }: Common,
  keys: readonly string[],
  { withDelivery = false, signal }: Pick<RowQuery, "withDelivery" | "signal"> = {},
): RowQuery {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  if (fromMs >= toMs) throw invalid("to", "to: must be later than from.");
  if (toMs - fromMs > ANALYTICS_LIMITS.rangeDays * DAY_MS)
    throw invalid("from", `from: must be at most ${ANALYTICS_LIMITS.rangeDays} days before to.`);
  for (const key of Object.keys(metadata)) assertMeasured(key, keys, `metadata[${key}]`);
  return {
    tenant: tenant ?? undefined,
    fromUs: fromMs * US_PER_MS,
    toUs: toMs * US_PER_MS,
    model,
    status,
    metadata,
    withDelivery,
    mostRows: MOST_ROWS,
    signal,
  };
}

export function toTargets({
  target_first_ms: first,
  target_gap_ms: gap,
  target_total_ms: total,
}: {
  readonly target_first_ms?: number | undefined;
  readonly target_gap_ms?: number | undefined;
  readonly target_total_ms?: number | undefined;
}): Targets {
  return {
    firstUs: first === undefined ? DEFAULT_TARGETS.firstUs : first * US_PER_MS,
    gapUs: gap === undefined ? DEFAULT_TARGETS.gapUs : gap * US_PER_MS,
    totalUs: total === undefined ? DEFAULT_TARGETS.totalUs : total * US_PER_MS,
  };
}

/** Returns the targets in the form of answers. */
export function describeTargets({ firstUs, gapUs, totalUs }: Targets) {
  return {
    first_ms: firstUs / US_PER_MS,
    gap_p99_ms: gapUs / US_PER_MS,
    ...(totalUs !== Infinity && { total_ms: totalUs / US_PER_MS }),
  };
}

function invalid(param: string, message: string): RepriseError {
  return new RepriseError("invalid_request", message, { param });
}
