import type { ArchiveRecord } from "../commit/record.ts";

/** The erased data of a tenant: the destroyed keys, and their generations. */
export interface Erasures {
  readonly kids: ReadonlySet<string>;
  /** When, ISO 8601. */
  readonly generations: ReadonlyMap<string, string>;
}

const NOTHING: Erasures = { kids: new Set(), generations: new Map() };

/** Returns the erasures in a tenant's records, oldest first. A request that was not carried out yet has erased nothing. */
export function erasuresOf(records: readonly ArchiveRecord[]): Erasures {
  if (!records.some(({ kind }) => kind === "key_destroyed")) return NOTHING;
  const kids = new Set<string>();
  const generations = new Map<string, string>();
  const requested = new Map<string, string[]>();
  for (const record of records) {
    // Each request of an erasure names what the earlier ones have not.
    if (record.kind === "erasure_requested")
      requested.set(record.id, [...(requested.get(record.id) ?? []), ...record.generations]);
    if (record.kind !== "key_destroyed") continue;
    for (const kid of record.kids) kids.add(kid);
    for (const generation of requested.get(record.id) ?? []) generations.set(generation, record.at);
  }
  return { kids, generations };
}
