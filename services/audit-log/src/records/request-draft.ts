import type { ArchiveRecord, ArchiveState, Draft, PlacesByStream } from "@reprise/archive";
import { type Erasure, erasuresIn } from "./erasures.ts";

/** Drafts a commit of records of one tenant alone. They are hashed as they are: with their fields in the order of the schema. */
export function recordsDraft(tenant: string, records: readonly ArchiveRecord[]): Draft {
  return { tenants: [{ tenant, leaves: [], files: [], removes: [], records }] };
}

export interface RequestedNow {
  /** The places of the streams that are purged now: only places that a request names are purged. */
  readonly purged: PlacesByStream;
  /** The time of this request; for the first request of an erasure, the time of the erasure. */
  readonly at: string;
}

/** Drafts a further request of an erasure, with the generations and places that no earlier one has named: for a large erasure mostly places. */
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
