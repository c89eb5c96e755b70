import type { ArchiveRecord, ArchiveState, Draft, PlacesByStream } from "@reprise/archive";
import { type Erasure, generationsOf } from "./erasures.ts";

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

/** Says what an erasure takes away: of its generations also those that only `state` knows of. */
export function requestDraft(
  state: ArchiveState,
  tenant: string,
  erasure: Erasure,
  { purged, at }: RequestedNow,
): Draft {
  const { id, by, reason, tag } = erasure;
  return recordsDraft(tenant, [
    {
      kind: "erasure_requested",
      at,
      id,
      by,
      reason,
      ...(tag !== undefined && { tag }),
      generations: generationsOf(state, tenant, erasure),
      purged,
    },
  ]);
}
