import type { ArchiveRecord, ArchiveState } from "@reprise/archive";

/** An erasure as the archive's records tell it. */
export interface Erasure {
  readonly id: string;
  readonly at: string;
  readonly by: string;
  readonly reason: string;
  /** Of the subject; undefined for a single generation. */
  readonly tag: string | undefined;
  /** All that it has taken in so far. */
  readonly generations: readonly string[];
  /** When it was finished; undefined while it is not. */
  readonly doneAt: string | undefined;
}

/**
 * The erasures of a tenant, oldest first. One may have several requests: each later one names further generations, or further places of
 * the live streams, and all of them count. One that is finished is begun again by further generations, not by places.
 */
export function erasuresIn(records: readonly ArchiveRecord[]): Erasure[] {
  const erasures = new Map<string, Erasure>();
  for (const record of records) {
    if (record.kind === "erasure_requested") {
      const known = erasures.get(record.id);
      const { at, by, reason, tag } = known ?? record;
      const { id } = record;
      const generations = [...new Set([...(known?.generations ?? []), ...record.generations])].toSorted();
      const doneAt = known?.generations.length === generations.length ? known.doneAt : undefined;
      erasures.set(id, { id, at, by, reason, tag, generations, doneAt });
    } else if (record.kind === "key_destroyed") {
      const erasure = erasures.get(record.id);
      if (erasure) erasures.set(record.id, { ...erasure, doneAt: record.at });
    }
  }
  return [...erasures.values()];
}

/** All that an erasure has taken in by now, sorted: another process may have gone on with it. */
export function generationsOf(
  state: ArchiveState,
  tenant: string,
  { id, generations }: Pick<Erasure, "id" | "generations">,
): string[] {
  const recorded = erasuresIn(state.records(tenant)).find((one) => one.id === id);
  return [...new Set([...generations, ...(recorded?.generations ?? [])])].toSorted();
}

/** Unfinished erasures, with their tenants. */
export function openErasures(state: ArchiveState): { tenant: string; erasure: Erasure }[] {
  return state.tenants().flatMap((tenant) =>
    erasuresIn(state.records(tenant))
      .filter(({ doneAt }) => doneAt === undefined)
      .map((erasure) => ({ tenant, erasure })),
  );
}
