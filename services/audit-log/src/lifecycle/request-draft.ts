import type { ArchiveRecord, Draft, StreamRange } from "@reprise/archive";
import type { StreamPlaces } from "@reprise/log";
import { joinRanges } from "../archiving/places.ts";
import type { Erasure } from "./erasures.ts";

/** A commit of nothing but records of one tenant. They are hashed as they are: with their fields in the order of the schema. */
export function recordsDraft(tenant: string, records: readonly ArchiveRecord[]): Draft {
  return { tenants: [{ tenant, leaves: [], files: [], removes: [], records }] };
}

/**
 * Says what an erasure takes away, and which places of the streams become empty by it.
 * @param at when that is said: of the first request of an erasure, its own time
 */
export function requestDraft(
  tenant: string,
  { id, by, reason, tag, generations }: Erasure,
  places: StreamPlaces,
  at: string,
): Draft {
  const purged = Object.fromEntries(
    Object.entries(places).map(([stream, ranges]) => [
      stream,
      joinRanges(ranges.map(([first, last]): StreamRange => [first, last])),
    ]),
  );
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
