import type { ArchiveState, StreamRange } from "@reprise/archive";
import { joinRanges } from "./places.ts";

/** What erasures ask of whoever archives a stream. */
export interface Erased {
  /** How many erasures there are: while it is the same, so is the rest. */
  readonly count: number;
  /** `<tenant>.<generation>`: nothing of these is archived any more. */
  readonly generations: ReadonlySet<string>;
  /** Places of the stream that are empty, or will be, because of it. */
  readonly purged: readonly StreamRange[];
}

/** All erasures that the archive knows of. */
export function erasedIn(state: ArchiveState, stream: string): Erased {
  const generations = new Set<string>();
  const purged: StreamRange[] = [];
  let count = 0;
  for (const tenant of state.tenants()) {
    for (const record of state.records(tenant)) {
      if (record.kind !== "erasure_requested") continue;
      count++;
      for (const generation of record.generations) generations.add(`${tenant}.${generation}`);
      purged.push(...(record.purged[stream] ?? []).map(([first, last]): StreamRange => [first, last]));
    }
  }
  return { count, generations, purged: joinRanges(purged) };
}
