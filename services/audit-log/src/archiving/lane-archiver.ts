import { setTimeout as pause } from "node:timers/promises";
import type { Archive, ArchiveState, Commit } from "@reprise/archive";
import type { Broker } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import type { Batch } from "./batch.ts";
import { type Erased, erasedIn } from "./erased.ts";
import { type BatchLimits, LaneReader } from "./lane-reader.ts";
import { findLaneStart } from "./lane-start.ts";
import { sealBatch, type SealedBatch, type SealingContext } from "./seal-batch.ts";

export interface LaneOptions extends SealingContext {
  readonly connection: Broker["reads"];
  readonly archive: Archive;
  readonly stream: string;
  readonly limits: BatchLimits;
  /** Told of a batch that is about to be sealed and committed. */
  readonly onRead?: ((batch: Batch) => void) | undefined;
  readonly onCommitted: (commit: Commit) => void;
}

const RETRY_MS = 500;

/**
 * Archives one stream until `signal` aborts, and then what has been read. While the broker or the store can't be reached it waits. One batch
 * is sealed and committed while the next is read; no more are in memory.
 * @returns `fenced` when somebody else archives the stream
 */
export async function archiveLane(options: LaneOptions, signal: AbortSignal): Promise<"stopped" | "fenced"> {
  const { connection, archive, stream, limits, onError } = options;
  while (!signal.aborted) {
    try {
      const start = await findLaneStart(connection, archive, stream);
      const reader = new LaneReader(connection, stream, start, limits);
      if ((await follow(reader, options, signal)) === "fenced") return "fenced";
    } catch (error) {
      // Whatever has become of the stream meanwhile, the next round begins by comparing it with the archive.
      onError(error);
      await pause(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
  return "stopped";
}

async function follow(
  reader: LaneReader,
  options: LaneOptions,
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
async function commitBatch(batch: Batch, options: LaneOptions): Promise<"committed" | "fenced"> {
  const { archive, onRead, onCommitted } = options;
  onRead?.(batch);
  const seal = (state: ArchiveState) => untilStored(() => sealBatch(batch, state, options), options);
  let sealed = await seal(archive.state);
  const outcome = await archive.append(async (state) => {
    const erased = erasedIn(state, batch);
    if (sealed.erasures !== erased.count) {
      const before = sealed;
      await untilStored(() => discardErased(before, erased, options), options);
      sealed = await seal(state);
    }
    return sealed.draft;
  });
  if (outcome.kind === "committed") onCommitted(outcome.commit);
  return outcome.kind;
}

/** Tries again while a store can't be reached. */
async function untilStored<T>(work: () => Promise<T>, { onError }: Pick<LaneOptions, "onError">): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== "archive_unavailable") throw error;
      onError(error);
      await pause(RETRY_MS);
    }
  }
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
