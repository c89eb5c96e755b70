import type { Archive, ArchiveState, Commit } from "@reprise/archive";
import { pause, retryRejected } from "@reprise/async";
import type { Broker } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import { abortAfter, SHUTDOWN_MS, raceAbort } from "../../shutdown.ts";
import type { Batch } from "./batch.ts";
import { type Erased, erasedIn } from "../erased.ts";
import { type BatchLimits, LaneReader } from "./lane-reader.ts";
import { findLaneStart } from "./lane-start.ts";
import { sealBatch, type SealedBatch, type SealingContext } from "./seal-batch.ts";

export interface LaneOptions extends SealingContext {
  readonly connection: Broker["reads"];
  readonly archive: Archive;
  readonly stream: string;
  readonly limits: BatchLimits;
  /** How long what was read may still take to be archived when the lane is to stop. Default 5 s. */
  readonly closeMs?: number | undefined;
  /** Called for a batch that is about to be sealed and committed. */
  readonly onRead?: ((batch: Batch) => void) | undefined;
  readonly onCommitted: (commit: Commit) => void;
}

const RETRY_MS = 500;

/**
 * Archives one stream until `signal` aborts, and then what has been read. While the broker or the store can't be reached it waits, but not for
 * longer than `closeMs` once it is to stop: then the stream is left as it is, and the next archiver goes on behind the last commit. One batch
 * is sealed and committed while the next is read; no more are in memory.
 * @returns `fenced` when another archiver archives the stream
 */
export async function archiveLane(options: LaneOptions, signal: AbortSignal): Promise<"stopped" | "fenced"> {
  const { connection, archive, stream, limits, closeMs = SHUTDOWN_MS, onError } = options;
  const giveUp = abortAfter(signal, closeMs, () => notArchived(stream));
  while (!signal.aborted) {
    try {
      const start = await raceAbort(findLaneStart(connection, archive, stream), giveUp);
      const reader = new LaneReader(connection, stream, start, limits);
      const following = follow(reader, { ...options, giveUp }, signal);
      if ((await raceAbort(following, giveUp)) === "fenced") return "fenced";
    } catch (error) {
      // The next round begins by comparing the stream with the archive, so it may have changed in any way.
      onError(error);
      await pause(RETRY_MS, signal);
    }
  }
  return "stopped";
}

interface CommitOptions extends LaneOptions {
  /** Ends the trying. */
  readonly giveUp: AbortSignal;
}

async function follow(
  reader: LaneReader,
  options: CommitOptions,
  signal: AbortSignal,
): Promise<"stopped" | "fenced"> {
  let committing: Promise<"committed" | "fenced"> = Promise.resolve("committed");
  for (;;) {
    // What becomes of a commit is heard of at once, also where the next message is a long time coming.
    const ending = new AbortController();
    committing.then(
      (outcome) => {
        if (outcome === "fenced") ending.abort();
      },
      () => ending.abort(),
    );
    const { batch, error } = await reader.next(AbortSignal.any([signal, ending.signal]));
    if ((await committing) === "fenced") return "fenced";
    if (batch) committing = commitBatch(batch, options);
    if (!signal.aborted && error === undefined) continue;
    if ((await committing) === "fenced") return "fenced";
    if (signal.aborted) return "stopped";
    throw error;
  }
}

/**
 * Commits are in one order, so a commit knows of every erasure before it: a batch that was sealed before one is sealed again without what was
 * erased, and what was sealed first is taken away.
 */
async function commitBatch(batch: Batch, options: CommitOptions): Promise<"committed" | "fenced"> {
  const { archive, giveUp, onRead, onCommitted } = options;
  // The lane has ended for its caller, so `onRead` is not called any more.
  giveUp.throwIfAborted();
  onRead?.(batch);
  const seal = (state: ArchiveState) => untilStored(() => sealBatch(batch, state, options), options);
  let sealed = await seal(archive.state);
  const make = async (state: ArchiveState) => {
    const erased = erasedIn(state, batch);
    if (sealed.erasures !== erased.count) {
      const before = sealed;
      await untilStored(() => discardErased(before, erased, options), options);
      sealed = await seal(state);
    }
    return sealed.draft;
  };
  const outcome = await archive.append(make, { signal: giveUp });
  if (outcome.kind === "committed") onCommitted(outcome.commit);
  return outcome.kind;
}

/** Tries again while a store can't be reached. @throws the reason to give up */
function untilStored<T>(
  work: () => Promise<T>,
  { giveUp, onError }: Pick<CommitOptions, "giveUp" | "onError">,
): Promise<T> {
  const isAway = (error: unknown) => {
    if (!(error instanceof RepriseError) || error.code !== "archive_unavailable") return false;
    onError(error);
    return true;
  };
  return retryRejected(work, isAway, { pauseMs: RETRY_MS, signal: giveUp });
}

/** No commit will name these files, and what is in them of erased generations must not be readable. */
async function discardErased(
  { draft, kids }: SealedBatch,
  { generations }: Erased,
  { store, keyring }: LaneOptions,
): Promise<void> {
  for (const { tenant, files } of draft.tenants) {
    const used = [...kids].filter(({ owner }) => owner.tenant === tenant);
    const kept = new Set(
      used.filter(({ owner }) => !generations.has(`${tenant}.${owner.generation}`)).map(({ kid }) => kid),
    );
    const gone = new Set(used.map(({ kid }) => kid).filter((kid) => !kept.has(kid)));
    await keyring.destroy(tenant, [...gone]);
    for (const { key } of files) await store.delete(key);
  }
}

function notArchived(stream: string): RepriseError {
  const message = `What was read last of ${stream} could not be archived in time; the next archiver reads it again.`;
  return new RepriseError("archive_unavailable", message);
}
