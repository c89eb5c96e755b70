import type { ArchiveState, StreamRange } from "@reprise/archive";
import { type Batch, mergeRanges } from "@reprise/facts/lane";

/** The effect of erasures on a range of a stream that is archived. */
export interface Erased {
  /** Number of requests: while it is the same, so is the rest. */
  readonly count: number;
  /** `<tenant>.<generation>`: nothing of these is archived any more, because of the erasure with this id. */
  readonly generations: ReadonlyMap<string, string>;
  /** Places of the range that are empty, or will be, because of it. */
  readonly purged: readonly StreamRange[];
}

/** All erasures that the archive knows of. What was purged from a stream does not count for another one that has its name now. */
export function erasedIn(
  state: ArchiveState,
  { stream, created, first, last }: Pick<Batch, "stream" | "created" | "first" | "last">,
): Erased {
  const generations = new Map<string, string>();
  const purged: StreamRange[] = [];
  let count = 0;
  for (const tenant of state.tenants()) {
    for (const record of state.records(tenant)) {
      if (record.kind !== "erasure_requested") continue;
      count++;
      for (const generation of record.generations) generations.set(`${tenant}.${generation}`, record.id);
      const emptied = record.purged[stream];
      if (emptied?.created !== created) continue;
      for (const [from, to] of emptied.ranges) if (from <= last && to >= first) purged.push([from, to]);
    }
  }
  return { count, generations, purged: mergeRanges(purged) };
}
