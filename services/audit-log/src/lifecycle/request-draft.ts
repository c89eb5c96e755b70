import type { ArchiveRecord, Draft, PlacesByStream } from "@reprise/archive";
import type { Erasure } from "./erasures.ts";

/** A commit of nothing but records of one tenant. They are hashed as they are: with their fields in the order of the schema. */
export function recordsDraft(tenant: string, records: readonly ArchiveRecord[]): Draft {
  return { tenants: [{ tenant, leaves: [], files: [], removes: [], records }] };
}

/**
 * Says what an erasure takes away.
 * @param purged the places of the streams that become empty by it now: nothing is purged that no request has named
 * @param at when that is said: of the first request of an erasure, its own time
 */
export function requestDraft(
  tenant: string,
  { id, by, reason, tag, generations }: Erasure,
  purged: PlacesByStream,
  at: string,
): Draft {
  return recordsDraft(tenant, [
    {
      kind: "erasure_requested",
      at,
      id,
      by,
      reason,
      ...(tag !== undefined && { tag }),
      generations: [...generations],
      purged,
    },
  ]);
}
