import type { GenerationRow, UsageEvent } from "@reprise/metering";
import type { FoundUsage } from "./usage-files.ts";

export type DifferenceKind =
  /** The archive has the generation, and no row does. */
  | "missing_in_rows"
  /** A row has it, or a usage file, and the archive does not. */
  | "missing_in_archive"
  /** Events are missing in the archive: its numbers can't be computed. */
  | "incomplete_in_archive"
  /** More than one row has it. */
  | "twice_in_rows"
  | "different_in_rows"
  | "missing_in_usage_files"
  | "different_in_usage_files";

/** One generation of which two records do not agree. */
export interface Difference {
  readonly kind: DifferenceKind;
  readonly tenant: string;
  readonly generation: string;
  /** RFC 3339; undefined where no record says it. */
  readonly ended_at?: string;
  /** What has other values than the archive, by name. */
  readonly fields?: Readonly<Record<string, FieldDifference>>;
}

export interface FieldDifference {
  readonly archive: unknown;
  readonly found: unknown;
}

/** Of usage events: the price may have been another one when they were delivered. */
const NOT_COMPARED = new Set(["cost", "currency"]);

/** What a row has otherwise than the archive's; undefined for nothing. */
export function compareRows(archived: GenerationRow, found: GenerationRow) {
  return compareFields({ ...archived }, { ...found });
}

/** The same for usage events. Their costs are not compared. */
export function compareUsage(archived: UsageEvent, found: FoundUsage["event"]) {
  const flat = ({ data, id, subject, time, type }: UsageEvent | FoundUsage["event"]) => {
    const fields = { id, subject, time, type, ...data };
    return Object.fromEntries(Object.entries(fields).filter(([name]) => !NOT_COMPARED.has(name)));
  };
  return compareFields(flat(archived), flat(found));
}

function compareFields(
  archived: Readonly<Record<string, unknown>>,
  found: Readonly<Record<string, unknown>>,
): Record<string, FieldDifference> | undefined {
  const names = new Set([...Object.keys(archived), ...Object.keys(found)]);
  const fields = [...names].flatMap((name) => {
    const [expected, actual] = [archived[name] ?? null, found[name] ?? null];
    return canonical(expected) === canonical(actual)
      ? []
      : [[name, { archive: expected, found: actual }] as const];
  });
  return fields.length > 0 ? Object.fromEntries(fields) : undefined;
}

/** Of flat objects: the order of their names says nothing. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
