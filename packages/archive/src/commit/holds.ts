import type { ArchiveRecord } from "./record.ts";

type Hold = Extract<ArchiveRecord, { kind: "hold_set" }>;

/** Returns the legal holds in force after these records of a tenant, oldest first. */
export function holdsAfter(records: readonly ArchiveRecord[]): Hold[] {
  const holds = new Map<string, Hold>();
  for (const record of records) {
    if (record.kind === "hold_set") holds.set(record.id, record);
    else if (record.kind === "hold_lifted") holds.delete(record.id);
  }
  return [...holds.values()];
}
