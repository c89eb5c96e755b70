import type { Batch, LanePosition } from "@reprise/facts/lane";
import { STREAM_START } from "@reprise/protocol";

/** Returns a lane's place after a batch. @param committed its place before the batch */
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
