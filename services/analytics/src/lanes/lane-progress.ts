import type { StreamRange } from "@reprise/archive";
import { type Batch, countSeqs, type LanePosition } from "@reprise/facts/lane";
import { STREAM_START } from "@reprise/protocol";

/** Messages that retention took from a stream before they were read. */
export interface LostMessages {
  readonly messages: number;
  /** Their places. */
  readonly gaps: readonly StreamRange[];
  /** They were stored after this, and before that: microseconds since 1970. Undefined where it is not known. */
  readonly afterUs: number | undefined;
  readonly beforeUs: number | undefined;
}

/** @param committed where the lane stood before the batch */
export function toLostMessages(
  { maybeExpired: gaps, messages, created }: Batch,
  committed: LanePosition | undefined,
): LostMessages {
  const last = gaps.at(-1)?.[1];
  const lastAtUs = committed?.created === created ? committed.last_at : 0;
  return {
    messages: countSeqs(gaps),
    gaps,
    afterUs: lastAtUs > 0 ? lastAtUs : undefined,
    beforeUs: messages.find(({ streamSeq }) => last !== undefined && streamSeq > last)?.storedAtUs,
  };
}

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
