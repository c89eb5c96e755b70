import { type StreamSeq, STREAM_START } from "@reprise/protocol";
import type { Lane, SegmentKind, StreamRange } from "@reprise/archive";
import { type Batch, countSeqs, mergeRanges, toRanges, subtractRanges } from "@reprise/facts/lane";

export interface LaneContext {
  readonly kind: SegmentKind;
  /** Places that erasures have purged. */
  readonly purged: readonly StreamRange[];
  /** Places whose messages are there and not archived. */
  readonly leftOut: readonly StreamSeq[];
  /** The stream in the commit before. */
  readonly before: Lane | undefined;
}

/**
 * The entry of a range of a stream in a commit, with every place of it. Empty places are gaps, save what erasures have emptied. Of verdicts the
 * broker keeps one per generation, so an empty place is as a rule that of one that was replaced: a gap are only those that retention may
 * have emptied, whether they had been replaced before or not.
 */
export function describeLane(
  { stream, epoch, created, first, last, messages, ...holes }: Batch,
  { kind, purged, leftOut, before }: LaneContext,
): Lane {
  const missing = mergeRanges(holes.missing);
  const replaced = kind === "verdict" ? subtractRanges(missing, mergeRanges(holes.maybeExpired)) : [];
  const gaps = subtractRanges(missing, mergeRanges([...purged, ...replaced]));
  const skipped = mergeRanges([...subtractRanges(missing, gaps), ...toRanges(leftOut)]);
  const stored = messages.at(-1);
  const isSame = before?.epoch === epoch;
  return {
    stream,
    epoch,
    created,
    first,
    last,
    last_seq_stored: stored?.streamSeq ?? (isSame ? before.last_seq_stored : STREAM_START),
    last_at: stored?.storedAtUs ?? (isSame ? before.last_at : 0),
    events: last - first + 1 - countSeqs(gaps) - countSeqs(skipped),
    gaps,
    skipped,
  };
}
