import type { LaneHistory, LanePosition, LaneStart } from "@reprise/lane";
import type { EncodedFold, GenerationRow } from "@reprise/metering";

/** Folds that go on, by their subjects. */
export type OpenFolds<Fold = EncodedFold> = ReadonlyMap<string, Fold>;

/** What a commit says beside where it stands in its lane. */
export interface CommitDraft<Row = GenerationRow, Fold = EncodedFold> {
  readonly lane: LanePosition;
  /** Of what has ended in the batch. */
  readonly rows: readonly Row[];
  /** Folds that go on and have changed, by the subjects of their logs. */
  readonly changed: readonly (readonly [subject: string, Fold])[];
  /** Subjects of the folds that go on no longer. */
  readonly closed: readonly string[];
}

/**
 * One stream's commits, for the process that consumes the stream: `last` first, then `restore`, then `commit` for as long as it goes well. A commit is there whole or not at all:
 * its rows, the folds that go on behind it, and its place.
 *
 * All methods throw RepriseError `archive_unavailable` when the store can't be reached, and `archive_corrupt` when it has lost what it had.
 */
export interface LaneFacts<Row = GenerationRow, Fold = EncodedFold> extends LaneHistory {
  /** Of the last commit, which the next one goes on behind. */
  readonly position: LanePosition | undefined;
  /** The newest commit, which the next one goes on behind. */
  last(): Promise<LanePosition | undefined>;
  /**
   * Commits that count and at which folds can be restored, newest first, of whichever epoch: what an earlier epoch has read of the stream is in it as long as no later one has
   * lost it.
   */
  all(): AsyncIterable<LanePosition>;
  /** The folds that went on where the lane begins. Commits behind that are superseded with the next commit at the latest, where the stream has lost what they were made of. */
  restore(start: LaneStart): Promise<OpenFolds<Fold>>;
  /**
   * @param folds all that go on behind this commit
   * @returns `fenced` when another process has made this commit
   */
  commit(
    draft: CommitDraft<Row, Fold>,
    folds: () => Iterable<readonly [string, Fold]>,
  ): Promise<"committed" | "fenced">;
}
