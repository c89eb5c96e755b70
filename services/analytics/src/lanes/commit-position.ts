import type { Batch, LanePosition } from "@reprise/lane";
import { STREAM_START } from "@reprise/protocol";

/** Where a lane stands behind a batch. @param committed where it stood before it */
export function positionBehind(batch: Batch, committed: LanePosition | undefined): LanePosition {
  const { stream, epoch, created } = batch;
  const last = batch.messages.at(-1);
  const before = committed?.epoch === epoch ? committed : undefined;
  return {
    stream,
    epoch,
    created,
    last: batch.last,
    last_seq_stored: last?.streamSeq ?? before?.last_seq_stored ?? STREAM_START,
    last_at: last?.storedAtUs ?? before?.last_at ?? 0,
  };
}
