import type { LanePosition } from "@reprise/facts/lane";
import { type Broker, readStreamInfo } from "@reprise/broker";
import { RepriseError, STREAM_START } from "@reprise/protocol";
import type { LaneFacts } from "../commit-facts.ts";
import type { LaneRecord, LaneRecords } from "./lane-records.ts";
import type { StoreIdentity } from "./store-identity.ts";

export interface RecordedLaneOptions {
  readonly stream: string;
  readonly identity: Pick<StoreIdentity, "id">;
  readonly records: LaneRecords;
  readonly connection: Broker["reads"];
  /** Called when the lane could begin, and for each commit. */
  readonly onWorked: () => void;
  /** Called if the store is a copy of an earlier time, and the lane continues from there. */
  readonly onEarlier: (kept: LanePosition | undefined, record: LaneRecord) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Wraps a lane so that the broker keeps its place too. A store that is a copy of an earlier time has lost commits: the lane continues after the last commit of
 * the copy if the stream still has all their messages, and
 * fails to start otherwise.
 */
export function recordLane<Row, Fold>(
  facts: LaneFacts<Row, Fold>,
  options: RecordedLaneOptions,
): LaneFacts<Row, Fold> {
  const { stream, identity, records, onWorked, onError } = options;
  return {
    get position() {
      return facts.position;
    },
    async last() {
      const lane = await facts.last();
      await assertGoesOn(lane, options);
      return lane;
    },
    all: () => facts.all(),
    async restore(start) {
      const folds = await facts.restore(start);
      onWorked();
      return folds;
    },
    async commit(draft, folds) {
      const outcome = await facts.commit(draft, folds);
      if (outcome === "fenced") return outcome;
      onWorked();
      const { epoch, created, last } = draft.lane;
      if (identity.id !== undefined)
        await records.keep(stream, { store: identity.id, epoch, created, last }).catch(onError);
      return outcome;
    },
  };
}

async function assertGoesOn(lane: LanePosition | undefined, options: RecordedLaneOptions): Promise<void> {
  const { stream, identity, records, connection, onEarlier } = options;
  const record = await records.read(stream);
  // One of a store in whose place this one was put says nothing of this one.
  if (!record || record.store !== identity.id || !isBefore(lane, record)) return;
  const { created, firstStreamSeq } = await readStreamInfo(connection, stream);
  const kept = lane?.created === record.created ? lane.last : STREAM_START;
  if (created === record.created && firstStreamSeq <= kept + 1) return onEarlier(lane, record);
  throw new RepriseError(
    "archive_unavailable",
    `The store of analytics has ${stream} up to ${kept}, and had it up to ${record.last}: it is a copy of an earlier time, and the stream no longer has what is between. Bring the store back, or see docs/operations.md#when-the-rows-are-gone.`,
  );
}

function isBefore(lane: LanePosition | undefined, { epoch, last }: LaneRecord): boolean {
  return lane === undefined || lane.epoch < epoch || (lane.epoch === epoch && lane.last < last);
}
