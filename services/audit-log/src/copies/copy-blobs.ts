import { randomBytes } from "node:crypto";
import {
  type ArchiveRecord,
  type ArchiveState,
  type BlobCopy,
  type BlobStore,
  copyKey,
  type DataKey,
  type Keyring,
  sealCopy,
} from "@reprise/archive";
import { pause, retryRejected } from "@reprise/async";
import type { Batch } from "@reprise/facts/lane";
import * as blobs from "@reprise/blobs";
import {
  type BlobId,
  type BlobRecord,
  decodeOpsRecord,
  isBlobId,
  OPS_STREAM,
  parseOpsSubject,
  RepriseError,
  type StreamSeq,
  type TenantId,
} from "@reprise/protocol";
import { subjectTag } from "../records/search-tags.ts";
import { doneErasures, type OwnedCopy } from "./copy-owners.ts";

/*
 * Copies the bytes of blobs that a batch of OPS reports as stored, for tenants that ask for it. Parts are stored before the commit that names them,
 * as files are. A process that dies in between leaves parts that no commit names: the next archiver of the batch copies again, and the sweep
 * removes them.
 */

export interface CopySource {
  readonly storage: Pick<blobs.BlobStorage, "rows" | "chunks">;
  /** Returns true if the archive holds the bytes of a tenant's blobs. */
  readonly isWanted: (tenant: string) => boolean;
}

interface CopyContext {
  readonly store: BlobStore;
  readonly keyring: Keyring;
  /** Finds the key of a generation's blobs. */
  readonly keys: {
    goOn(owner: { readonly tenant: string; readonly generation: string }): Promise<DataKey>;
  };
  /** Called while the broker or the store is away. */
  readonly onError: (error: unknown) => void;
  readonly copies?: CopySource | undefined;
}

/** The result for one blob of a batch. */
export interface CopiedBlob extends OwnedCopy {
  readonly tenant: TenantId;
  readonly record: BlobCopy | Extract<ArchiveRecord, { kind: "blob_missed" }>;
}

/** A blob that a message reports as stored. */
interface StoredBlob {
  readonly tenant: TenantId;
  readonly blob: BlobId;
  readonly generation: string | undefined;
  readonly streamSeq: StreamSeq;
  readonly at: string;
}

const RETRY_MS = 200;
const LAST_RETRY_MS = 5_000;
/** Reads of the bytes, half a second apart: a replica of the broker may not have the last chunks yet. */
const TRIES = 6;
const TRY_AGAIN_MS = 500;
const SALT_BYTES = 16;
const NONCE_BYTES = 8;

/**
 * Copies the blobs that a batch says are stored and that the archive does not hold yet. Waits while the broker or the archive's store is away.
 * @throws RepriseError `archive_corrupt`; the signal's reason
 */
export async function copyBlobs(
  batch: Batch,
  state: ArchiveState,
  context: CopyContext,
  giveUp: AbortSignal,
): Promise<CopiedBlob[]> {
  const { copies: source, onError } = context;
  if (!source || batch.stream !== OPS_STREAM) return [];
  const isAway = (error: unknown) => {
    const code = error instanceof RepriseError ? error.code : undefined;
    if (code !== "archive_unavailable" && code !== "broker_unavailable") return false;
    onError(error);
    return true;
  };
  const copied: CopiedBlob[] = [];
  for (const stored of storedIn(batch, state, source)) {
    const erasures = doneErasures(state.records(stored.tenant));
    const copy = () => copyOne(stored, batch.epoch, { ...context, source, erasures, giveUp });
    copied.push(
      await retryRejected(copy, isAway, { pauseMs: RETRY_MS, maxPauseMs: LAST_RETRY_MS, signal: giveUp }),
    );
  }
  return copied;
}

/** Lists each blob once. */
function storedIn({ messages }: Batch, state: ArchiveState, { isWanted }: CopySource): StoredBlob[] {
  const found = new Map<string, StoredBlob>();
  const held = new Map<string, Set<string>>();
  for (const { subject, payload, isPublished, streamSeq, storedAtUs } of messages) {
    const owner = isPublished ? ownerOf(subject) : undefined;
    if (!owner || !isWanted(owner.tenant)) continue;
    const record = decodeOpsRecord(payload);
    if (record?.kind !== "blob" || record.call === "deleted" || !isBlobId(record.blob)) continue;
    const { tenant, generation } = owner;
    const there = held.get(tenant) ?? new Set([...state.copies(tenant).values()].map(({ blob }) => blob));
    held.set(tenant, there);
    if (there.has(record.blob)) continue;
    const at = new Date(storedAtUs / 1_000).toISOString();
    found.set(`${tenant} ${record.blob}`, { tenant, blob: record.blob, generation, streamSeq, at });
  }
  return [...found.values()];
}

function ownerOf(subject: string): { tenant: TenantId; generation: string | undefined } | undefined {
  try {
    const { tenant, kind, generation } = parseOpsSubject(subject);
    return kind === "blob" ? { tenant, generation } : undefined;
  } catch {
    // A foreign subject: `sealBatch` reports it.
    return undefined;
  }
}

interface Copying extends CopyContext {
  readonly source: CopySource;
  readonly erasures: ReadonlySet<string>;
  readonly giveUp: AbortSignal;
}

async function copyOne(stored: StoredBlob, epoch: number, context: Copying): Promise<CopiedBlob> {
  const { tenant, blob, generation, at } = stored;
  const { source, erasures } = context;
  const missed = (reason: "gone" | "damaged", owner: Omit<OwnedCopy, "erasures"> = { generation }) => ({
    tenant,
    ...owner,
    erasures,
    record: { kind: "blob_missed" as const, at, reason, blob },
  });
  for (let tries = 1; ; tries++) {
    const there = await unlessGone(() => blobs.findBlob(source.storage, tenant, blob));
    if (!there) return missed("gone");
    const { owner, key } = await openOwner(tenant, there.row, context);
    // An erasure removes the blob and then looks for keys of its subject: either it has found this key, or this read finds no blob.
    const found = await unlessGone(() => blobs.findBlob(source.storage, tenant, blob));
    if (!found) return missed("gone", owner);
    const { type, bytes, sha256 } = found.row;
    const draft = {
      at,
      ...owner,
      blob,
      key: copyKey({ ...stored, epoch }, randomBytes(NONCE_BYTES).toString("hex")),
      salt: randomBytes(SALT_BYTES).toString("hex"),
    };
    const ref = { tenant, upload: found.row.chunks };
    const content = untilAborted(source.storage.chunks.read(ref), context.giveUp);
    const described = { blob, type, bytes, sha256, content };
    const copy = await sealCopy(context.store, draft, described, key);
    if (copy) return { tenant, ...owner, erasures, record: copy };
    if (tries === TRIES) return missed("damaged", owner);
    await pause(TRY_AGAIN_MS, context.giveUp);
    context.giveUp.throwIfAborted();
  }
}

/** Stores the key that an erasure of the blob's person, or of the generation that made the blob, destroys, before anything is sealed with it. */
async function openOwner(
  tenant: TenantId,
  { subject, generation }: BlobRecord,
  { keys, keyring }: Pick<CopyContext, "keys" | "keyring">,
): Promise<{ owner: Omit<OwnedCopy, "erasures">; key: DataKey }> {
  const tag = subject === undefined ? undefined : await keyring.tag(tenant, subjectTag(subject));
  const key =
    generation === undefined && subject !== undefined
      ? await keyring.keyFor({ tenant, generation: "-", subject })
      : await keys.goOn({ tenant, generation: generation ?? "-" });
  await keyring.flush();
  return {
    owner: { ...(tag !== undefined && { tag }), ...(generation !== undefined && { generation }) },
    key,
  };
}

async function unlessGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RepriseError && error.code === "blob_not_found") return undefined;
    throw error;
  }
}

async function* untilAborted(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    signal.throwIfAborted();
    yield chunk;
  }
}
