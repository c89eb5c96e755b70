import type { ArchiveRecord, ArchiveState } from "@reprise/archive";

/** An erasure, folded from the archive's records. */
export interface Erasure {
  readonly id: string;
  readonly at: string;
  readonly by: string;
  readonly reason: string;
  /** The keyed hash of the subject; undefined for a single generation. */
  readonly tag: string | undefined;
  /** All generations of its requests so far. */
  readonly generations: readonly string[];
  /** Undefined while it is not finished. */
  readonly doneAt: string | undefined;
}

/**
 * Lists the erasures of a tenant, oldest first. An erasure may have several requests: each later one names further generations, or further places
 * of the live streams, and all of them count. Further generations begin a finished erasure again, further places do not.
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

/** Lists all generations of an erasure, sorted: another process may have continued it. */
export function generationsOf(
  state: ArchiveState,
  tenant: string,
  { id, generations }: Pick<Erasure, "id" | "generations">,
): string[] {
  const recorded = erasuresIn(state.records(tenant)).find((one) => one.id === id);
  return [...new Set([...generations, ...(recorded?.generations ?? [])])].toSorted();
}

/** Lists unfinished erasures with their tenants. */
export function openErasures(state: ArchiveState): { tenant: string; erasure: Erasure }[] {
  return state.tenants().flatMap((tenant) =>
    erasuresIn(state.records(tenant))
      .filter(({ doneAt }) => doneAt === undefined)
      .map((erasure) => ({ tenant, erasure })),
  );
}
