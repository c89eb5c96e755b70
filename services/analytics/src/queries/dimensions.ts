import { type DeliveredRow, reachOf } from "@reprise/facts";
import { type AnalyticsDimension, parseDimension, RepriseError } from "@reprise/protocol";

/** The value of rows without the dimension. */
const NONE = "";

type Value = (row: DeliveredRow) => string | null;

const VALUES: Readonly<Record<AnalyticsDimension, Value>> = {
  tenant: (row) => row.tenant,
  model: (row) => row.model ?? row.requested_model,
  engine: (row) => row.engine,
  status: (row) => row.status,
  code: (row) => row.code,
  reason: (row) => row.reason,
  finish_reason: (row) => row.finish_reason,
  priority: (row) => row.priority,
  moderation: (row) => row.moderation_mode ?? "off",
  read: reachOf,
  hour: (row) => `${isoOf(row).slice(0, 13)}:00:00Z`,
  day: (row) => isoOf(row).slice(0, 10),
  month: (row) => isoOf(row).slice(0, 7),
};

/**
 * Returns a function that gives a row's value of each dimension.
 * @param keys of the metadata that rows have
 * @throws RepriseError `invalid_request` for one that rows don't have
 */
export function toKeyOf(
  by: readonly string[],
  keys: readonly string[],
): (row: DeliveredRow) => readonly string[] {
  const values = by.map((name): Value => {
    const parsed = parseDimension(name);
    if (!parsed) throw invalid("by", `by: "${name}" is not a dimension.`);
    if ("dimension" in parsed) return VALUES[parsed.dimension];
    const { metadataKey } = parsed;
    assertMeasured(metadataKey, keys, "by");
    return ({ metadata }) => (Object.hasOwn(metadata, metadataKey) ? (metadata[metadataKey] ?? null) : null);
  });
  return (row) => values.map((valueOf) => valueOf(row) ?? NONE);
}

/** @throws RepriseError `invalid_request` for a key of the metadata that rows don't have */
export function assertMeasured(key: string, keys: readonly string[], param: string): void {
  if (keys.includes(key)) return;
  throw invalid(
    param,
    `${param}: the metadata key "${key}" is not measured. REPRISE_ANALYTICS_KEYS has ${keys.length === 0 ? "no key" : keys.map((one) => `"${one}"`).join(", ")}.`,
  );
}

function isoOf({ ended_us: endedUs }: DeliveredRow): string {
  return new Date(endedUs / 1_000).toISOString();
}

function invalid(param: string, message: string): RepriseError {
  return new RepriseError("invalid_request", message, { param });
}
