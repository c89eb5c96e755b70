import {
  type Archive,
  type ArchiveState,
  type Commit,
  commitKey,
  type Lane,
  parseCommit,
} from "@reprise/archive";
import {
  type Batch,
  type BatchLimits,
  followLane,
  type LaneHistory,
  retryWhileAway,
} from "@reprise/facts/lane";
import type { Broker } from "@reprise/broker";
import { type CommitSpan, traceCommits } from "@reprise/runtime";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import { copyBlobs, type CopySource } from "../../copies/copy-blobs.ts";
import { discardErasedCopies, toCopyDrafts } from "../../copies/copy-drafts.ts";
import { type Erased, erasedIn } from "../erased.ts";
import { joinByTenant, sealBatch, type SealedBatch, type SealingContext } from "./seal-batch.ts";

export interface LaneOptions extends SealingContext {
  /** The blobs that are copied into the archive. Default: none. */
  readonly copies?: CopySource | undefined;
  readonly connection: Broker["reads"];
  readonly archive: Archive;
  readonly stream: string;
  readonly limits: BatchLimits;
  /** Default: none. */
  readonly tracing?: Tracing | undefined;
  /** The time in which a stopping lane may still archive the messages that it has read. Default 5 s. */
  readonly closeMs?: number | undefined;
  /** Called before a batch is sealed and committed. */
  readonly onRead?: ((batch: Batch) => void) | undefined;
  /** @param ms since the batch was read */
  readonly onCommitted: (commit: Commit, ms: number) => void;
}

/** Archives one stream until `signal` aborts: `followLane`. */
export function archiveLane(options: LaneOptions, signal: AbortSignal): Promise<"stopped" | "fenced"> {
  const { connection, archive, stream, limits, closeMs, tracing = NO_TRACING, onError } = options;
  const begin = async () =>
    traceCommits(tracing, "audit-log", (batch: Batch, giveUp, span) =>
      commitBatch(batch, options, { giveUp, span }),
    );
  const history = createHistory(archive);
  return followLane({ connection, stream, history, limits, begin, closeMs, onError }, signal);
}

/** Reads a stream's last place in the archive, or its places in all commits, newest first. */
export function createHistory(archive: Archive): LaneHistory {
  return {
    async last(stream) {
      await archive.refresh();
      return archive.state.lanes.get(stream);
    },
    async *all(stream) {
      for (let n = archive.state.next - 1; n >= 0; n--) {
        const bytes = await archive.store.get(commitKey(n));
        const lane: Lane | undefined = bytes && parseCommit(bytes, n).lane;
        if (lane?.stream === stream) yield lane;
      }
    },
  };
}

/**
 * Commits are in one order, so a commit knows of every erasure before it: a batch that was sealed before an erasure is sealed again without the
 * erased messages, and the files of the first seal are removed.
 */
async function commitBatch(
  batch: Batch,
  options: LaneOptions,
  { giveUp, span }: { giveUp: AbortSignal; span: CommitSpan },
): Promise<"committed" | "fenced"> {
  const { archive, onRead, onCommitted } = options;
  const onError = (error: unknown) => {
    span.failed(error);
    options.onError(error);
  };
  // The lane has ended for its caller, so `onRead` is not called any more.
  giveUp.throwIfAborted();
  const readAtMs = performance.now();
  onRead?.(batch);
  const seal = (state: ArchiveState) =>
    retryWhileAway(() => sealBatch(batch, state, options), { giveUp, onError });
  const copied = await copyBlobs(batch, archive.state, { ...options, onError }, giveUp);
  let sealed = await seal(archive.state);
  const make = async (state: ArchiveState) => {
    const erased = erasedIn(state, batch);
    if (sealed.erasures !== erased.count) {
      const before = sealed;
      await retryWhileAway(() => discardErased(before, erased, options), { giveUp, onError });
      sealed = await seal(state);
    }
    const { lane, tenants } = sealed.draft;
    return { lane, tenants: joinByTenant([...tenants, ...toCopyDrafts(copied, state)]) };
  };
  const outcome = await archive.append(make, { signal: giveUp });
  // The sweep removes the rest.
  await discardErasedCopies(copied, archive.state, options.store).catch(onError);
  const files = sealed.draft.tenants.flatMap((tenant) => tenant.files);
  span.counted({ "reprise.files": files.length, "reprise.bytes": sumOf(files) });
  if (outcome.kind === "committed") onCommitted(outcome.commit, performance.now() - readAtMs);
  return outcome.kind;
}

function sumOf(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Removes files that no commit will name: they hold texts of erased generations. */
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
