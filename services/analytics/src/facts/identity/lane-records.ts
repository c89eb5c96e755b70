import type { LanePosition } from "@reprise/facts/lane";
import { type Broker, type Publish } from "@reprise/broker";
import { keepRecord, readKeptRecord } from "@reprise/jobs";
import { LEASE_GROUPS, RepriseError } from "@reprise/protocol";

/** Up to where a lane had come in a store. */
export interface LaneRecord extends Pick<LanePosition, "epoch" | "created" | "last"> {
  /** Its id. */
  readonly store: string;
}

/** The broker's records of the lanes' commits: the place of each lane, and its store. A record is written after a commit, so it is never ahead of it. */
export interface LaneRecords {
  /** Undefined where nothing was committed yet. @throws RepriseError `broker_unavailable`, `protocol_violation` */
  read(stream: string): Promise<LaneRecord | undefined>;
  /** @throws RepriseError `broker_unavailable` */
  keep(stream: string, record: LaneRecord): Promise<void>;
}

const group = LEASE_GROUPS.analytics;

export function createLaneRecords(connection: Broker["reads"], publish: Publish): LaneRecords {
  return {
    async read(stream) {
      const kept = await readKeptRecord(connection, { group, name: stream });
      return kept === undefined ? undefined : parseRecord(kept, stream);
    },
    keep: (stream, record) => keepRecord(publish, { group, name: stream }, record),
  };
}

function parseRecord(kept: unknown, stream: string): LaneRecord {
  const { store, epoch, created, last } = kept as Partial<LaneRecord>;
  if (
    typeof store === "string" &&
    typeof epoch === "number" &&
    typeof created === "string" &&
    last !== undefined
  )
    return { store, epoch, created, last };
  throw new RepriseError("protocol_violation", `The broker keeps no place of ${stream} in its record.`);
}
