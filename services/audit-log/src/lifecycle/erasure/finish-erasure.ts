import type { ArchiveState, PlacesByStream } from "@reprise/archive";
import { pause } from "@reprise/async";
import { logErasure } from "@reprise/stream";
import { type GenerationRef, type TenantId } from "@reprise/protocol";
import { sweepCopies } from "../../copies/sweep-copies.ts";
import { eraseBlobs } from "../erase-blobs.ts";
import { closeConversations, removeConversations } from "../remove-conversations.ts";
import { laneStreams } from "../../archiving/lane/lane-kind.ts";
import { EmptiedRanges } from "./emptied-ranges.ts";
import { type Erasure, generationsOf } from "../../records/erasures.ts";
import { destroyKeys } from "./destroy-keys.ts";
import { findGenerations } from "./find-generations.ts";
import type { LifecycleContext, LiveStreams } from "../lifecycle-context.ts";
import { endAll, purgeAll, announceAll, toRef } from "./live-generations.ts";
import { recordsDraft, requestDraft } from "../../records/request-draft.ts";

export interface FinishOptions {
  /** Time for which another process may still seal with a cached key of the subject. Default 11 s: a keyring checks again after 10. */
  readonly settleMs?: number;
  /** Ends the wait, and nothing more is committed: a later call continues the erasure. */
  readonly signal?: AbortSignal | undefined;
}

const SETTLE_MS = 11_000;

/**
 * Carries out an erasure. In this order:
 *
 * 1. Its keys are destroyed: from here on the archive's data is unreadable, and every copy of it.
 * 2. Its generations are purged from the live streams, after the places that become empty are recorded, and all nodes drop them.
 * 3. After a while no process has one of the keys in memory any more. The streams' newest files are filled up, so that the purged messages leave
 *    them, and those places are recorded; checkpoints of other generations in the same files are moved. An archiver that sealed
 *    such messages meanwhile sees that record and seals again.
 * 4. The blobs that its generations have made, the subject's own blobs and its conversations are removed.
 * 5. Generations of the same subject that began meanwhile, and were partly sealed with a destroyed key, are lost: they are erased as well,
 *    and so are generations that another process has added to the erasure.
 * 6. The destruction is recorded, and the archive's copies of its blobs, which can't be read any more, are removed.
 *
 * Every step may be repeated.
 * @returns the finished erasure; undefined if there is no broker, and only the first step was taken
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`, `broker_unavailable`; the signal's reason
 */
export async function finishErasure(
  context: LifecycleContext,
  tenant: TenantId,
  begun: Erasure,
  { settleMs = SETTLE_MS, signal, kids: named = [] }: FinishOptions & { kids?: readonly string[] },
): Promise<Erasure | undefined> {
  const { archive, live } = context;
  const ends = signal && { signal };
  const request = (erasure: Erasure, purged: PlacesByStream) =>
    archive.append((state) => requestDraft(state, tenant, erasure, { purged, at: now() }), ends);
  const kids = new Set(named);
  for (let asked = begun; ;) {
    const erasure = asked;
    const refs = erasure.generations.map((id) => toRef(tenant, id));
    await destroyKeys(context, tenant, erasure, kids);
    if (!live) return undefined;
    const record = (purged: PlacesByStream) => request(erasure, purged);
    await purgeAll(live, refs, record);
    await announceAll(live, refs, erasure.id);
    // Of a generation with a key of its own nothing more is sealed.
    if (erasure.tag !== undefined) await pause(settleMs, signal);
    signal?.throwIfAborted();
    await clearFiles(live, refs, record);
    await purgeAll(live, refs, record);
    await eraseBlobs(context, tenant, erasure);
    if (erasure.tag !== undefined) {
      // Those that were made meanwhile, and all where the erasure began without a broker.
      await closeConversations(context, tenant, { tag: erasure.tag, by: erasure.by });
      await removeConversations(context, tenant, erasure.generations);
    }
    let further = await findLost(context, tenant, erasure, kids);
    if (further.length === 0) {
      const at = now();
      const { id, generations } = erasure;
      const destroyed = { kind: "key_destroyed", at, id, kids: [...kids].toSorted() } as const;
      const isAll = (state: ArchiveState) =>
        generationsOf(state, tenant, erasure).length === generations.length;
      const outcome = await archive.append(
        (state) => (isAll(state) ? recordsDraft(tenant, [destroyed]) : undefined),
        ends,
      );
      if (outcome.kind === "committed") {
        // After the record: a copy whose key no record says is destroyed must be there.
        await sweepCopies(context, tenant);
        return { ...erasure, doneAt: at };
      }
      further = await findLost(context, tenant, erasure, kids);
    }
    const grown = { ...erasure, generations: [...erasure.generations, ...further].toSorted() };
    await endAll(
      live,
      further.map((id) => toRef(tenant, id)),
    );
    await request(grown, {});
    asked = grown;
  }
}

/**
 * Has the broker's files lose what was purged, as far as it depends on who erases.
 * @param record called with the ranges of the filler, before they become empty
 */
export async function clearFiles(
  live: LiveStreams,
  refs: readonly GenerationRef[],
  record: (places: PlacesByStream) => Promise<unknown>,
): Promise<void> {
  const streams = logErasure.streamsWithTextOf(refs.map(({ generation }) => generation));
  const archived = laneStreams(live.shards);
  const places = await EmptiedRanges.open(
    live,
    streams.map(({ stream }) => stream),
  );
  const fillers: [logErasure.FilledStream, logErasure.StreamRanges][] = [];
  for (const stream of streams) {
    const filled = await logErasure.fillStream(live, stream);
    fillers.push([stream, filled]);
    if (archived.includes(stream.stream)) places.add(filled);
  }
  await record(places.byStream());
  await logErasure.moveCheckpoints(live, await logErasure.readTextIntervals(live.broker, refs));
  for (const [stream, filled] of fillers) await logErasure.purgeFiller(live.broker, stream, filled);
  await logErasure.clearTextIntervals(live, refs);
}

/** Generations that became unreadable by an erasure, and those that others have taken into it, as far as it has not. */
async function findLost(
  context: LifecycleContext,
  tenant: TenantId,
  erasure: Erasure,
  kids: ReadonlySet<string>,
): Promise<string[]> {
  const { archive } = context;
  const { tag } = erasure;
  if (tag === undefined) return [];
  await archive.refresh();
  const found = await findGenerations(context, tenant, { tag, generations: [] });
  const further = new Set(generationsOf(archive.state, tenant, erasure));
  for (const [id, { kids: used }] of found) if ([...used].some((kid) => kids.has(kid))) further.add(id);
  for (const id of erasure.generations) further.delete(id);
  return [...further];
}

function now(): string {
  return new Date().toISOString();
}
