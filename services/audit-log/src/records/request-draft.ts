import type { ArchiveRecord, ArchiveState, Draft, PlacesByStream } from "@reprise/archive";
import { type Erasure, erasuresIn } from "./erasures.ts";

/** A commit of nothing but records of one tenant. They are hashed as they are: with their fields in the order of the schema. */
export function recordsDraft(tenant: string, records: readonly ArchiveRecord[]): Draft {
  return { tenants: [{ tenant, leaves: [], files: [], removes: [], records }] };
}

export interface RequestedNow {
  /** The places of the streams that become empty by it now: nothing is purged that no request has named. */
  readonly purged: PlacesByStream;
  /** When that is said: of the first request of an erasure, its own time. */
  readonly at: string;
}

/** Says what an erasure takes away that no earlier request of it has named: for a large one that is mostly places, and no generation. */
export function requestDraft(
  state: ArchiveState,
  tenant: string,
  erasure: Erasure,
  { purged, at }: RequestedNow,
): Draft {
  const { id, by, reason, tag } = erasure;
  const named = new Set(erasuresIn(state.records(tenant)).find((one) => one.id === id)?.generations);
  return recordsDraft(tenant, [
    {
      kind: "erasure_requested",
      at,
      id,
      by,
      reason,
      ...(tag !== undefined && { tag }),
      generations: erasure.generations.filter((generation) => !named.has(generation)).toSorted(),
      purged,
    },
  ]);
}
