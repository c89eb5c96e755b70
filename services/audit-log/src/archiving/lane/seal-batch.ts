import { randomBytes } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { type StreamSeq, plus, REQUEST_SEQ } from "@reprise/protocol";
import {
  type ArchiveState,
  type BlobStore,
  type Draft,
  encodeSegmentFile,
  type Keyring,
  leafHashOf,
  sealSegment,
  type Segment,
  type TenantDraft,
} from "@reprise/archive";
import type { Batch } from "@reprise/facts/lane";
import { describeFile } from "../describe-file.ts";
import { describeLane } from "./describe-lane.ts";
import { erasedIn } from "../erased.ts";
import type { GenerationKeys } from "../generation-keys.ts";
import { type Group, groupMessages } from "./group-messages.ts";
import { laneKind, type MessageOwner } from "./lane-kind.ts";
import { UnpurgedRanges } from "../unpurged-ranges.ts";
import { readEnd, readLogMetadata } from "../read-log-metadata.ts";

export interface SealingContext {
  readonly store: BlobStore;
  readonly keyring: Keyring;
  readonly keys: GenerationKeys;
  /** Called for messages of no generation. */
  readonly onError: (error: unknown) => void;
}

export interface SealedBatch {
  /** The draft to commit. */
  readonly draft: Draft;
  /** Number of erasures that it takes into account. */
  readonly erasures: number;
  /** Which key has sealed whose segment. */
  readonly kids: readonly { readonly owner: MessageOwner; readonly kid: string }[];
}

/** For so long others of the process wait at most while a batch is sealed. */
const SLICE_MS = 4;

/**
 * Seals a batch, and stores its files and their keys: all that is missing is the commit. Nothing is sealed of generations that are erased
 * in `state`.
 * @throws RepriseError `archive_unavailable`
 */
export async function sealBatch(
  batch: Batch,
  state: ArchiveState,
  { store, keyring, keys, onError }: SealingContext,
): Promise<SealedBatch> {
  const { stream, epoch, messages } = batch;
  const kind = laneKind(stream);
  const erased = erasedIn(state, batch);
  const { groups, strays } = groupMessages(stream, messages);
  for (const { error } of strays) if (error !== undefined) onError(error);
  const leftOut: StreamSeq[] = strays.map(({ streamSeq }) => streamSeq);
  const unpurged = new UnpurgedRanges(batch);
  const files = new Map<string, { group: Group; segments: Segment[] }>();
  const kids: SealedBatch["kids"][number][] = [];
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (const group of groups) {
    const erasure = erased.generations.get(`${group.tenant}.${group.generation}`);
    if (group.kind !== "access" && erasure !== undefined) {
      const places = group.messages.map(({ streamSeq }) => streamSeq);
      leftOut.push(...places);
      // What an erasure purges it names itself.
      if (group.kind === "ops") unpurged.add(group.tenant, erasure, places);
      continue;
    }
    const segment = await sealGroup(group, { stream, epoch, keys, keyring });
    const name = `${group.tenant} ${group.day}`;
    const file = files.get(name) ?? { group, segments: [] };
    file.segments.push(segment);
    kids.push({ owner: keyOwner(group), kid: segment.header.kid });
    files.set(name, file);
    if (performance.now() < sliceEndsAt) continue;
    await turn();
    sliceEndsAt = performance.now() + SLICE_MS;
  }
  // Before the files: the key of every stored text must be stored too, or it could not be destroyed.
  await keyring.flush();
  const tenants = await Promise.all([...files.values()].map((file) => storeFile(file, batch, store)));
  const lane = describeLane(batch, { kind, purged: erased.purged, leftOut, before: state.lanes.get(stream) });
  const draft = { lane, tenants: joinByTenant([...tenants, ...unpurged.toDrafts(state)]) };
  return { draft, erasures: erased.count, kids };
}

/** Accesses are kept under the tenant's own key: they outlive what was read. */
function keyOwner({ kind, tenant, generation }: Group): MessageOwner {
  return { tenant, generation: kind === "access" ? "-" : generation };
}

async function sealGroup(
  group: Group,
  { stream, epoch, keys, keyring }: Pick<SealingContext, "keys" | "keyring"> & SegmentPlace,
): Promise<Segment> {
  const { kind, tenant, generation, firstSeq, messages } = group;
  const words = kind === "log" ? readLogMetadata(group) : undefined;
  // A group is made for a message, and holds it.
  const firstMessage = messages[0]!;
  // So it has a last one too.
  const lastMessage = messages.at(-1)!;
  const key = words
    ? await keys.begin(group, words.subject, firstMessage.storedAtUs)
    : await keys.goOn(keyOwner(group));
  const tags = await Promise.all((words?.tagged ?? []).map((text) => keyring.tag(tenant, text)));
  return sealSegment(
    {
      v: 1,
      tenant,
      generation,
      kind,
      stream,
      epoch,
      first_stream_seq: firstMessage.streamSeq,
      last_stream_seq: lastMessage.streamSeq,
      events: messages.length,
      first_seq: firstSeq,
      last_seq: kind === "log" ? plus(firstSeq, messages.length - 1) : REQUEST_SEQ,
      first_at: firstMessage.storedAtUs,
      last_at: lastMessage.storedAtUs,
      ...(words && { model: words.model }),
      ...(tags.length > 0 && { tags: tags.toSorted() }),
      ...(kind === "log" && readEnd(group)),
    },
    messages,
    key,
    randomBytes,
  );
}

interface SegmentPlace {
  readonly stream: string;
  readonly epoch: number;
}

async function storeFile(
  { group, segments }: { group: Group; segments: readonly Segment[] },
  { stream, first, last }: Batch,
  store: BlobStore,
): Promise<TenantDraft> {
  const { tenant, day } = group;
  const bytes = encodeSegmentFile(segments);
  const file = describeFile({ tenant, day, stream, first, last }, { bytes, segments });
  await store.put(file.key, bytes);
  return { tenant, leaves: segments.map(leafHashOf), files: [file], removes: [], records: [] };
}

/** A batch at midnight has two files of a tenant; what is left out of it, and a blob that was copied, have a record. */
export function joinByTenant(drafts: readonly TenantDraft[]): TenantDraft[] {
  const joined = new Map<string, TenantDraft>();
  for (const draft of drafts) {
    const known = joined.get(draft.tenant);
    joined.set(draft.tenant, {
      ...draft,
      leaves: [...(known?.leaves ?? []), ...draft.leaves],
      files: [...(known?.files ?? []), ...draft.files],
      records: [...(known?.records ?? []), ...draft.records],
    });
  }
  return [...joined.values()];
}
