import {
  BLOB_SWEEP_SUBJECT,
  blobAccountSubject,
  chargeOf,
  parseBlobSubject,
  type TenantId,
  unixNow,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import type { UploadRef } from "./blob-chunks.ts";
import { isOver } from "./read-blob.ts";
import { endRemoval, removeBlobRow, removeUploadRow } from "./remove-blob.ts";

export interface SweepOptions {
  /** Minimum milliseconds since another process's sweep. Default 5 min. */
  readonly everyMs?: number;
  readonly nowMs?: number;
}

export interface Sweep {
  readonly blobs: number;
  readonly uploads: number;
  /** Chunks that no row named. */
  readonly orphans: number;
  /** Accounts that were put right. */
  readonly accounts: number;
}

const EVERY_MS = 300_000;
/** Clocks differ, and a call that has found a row keeps using it. */
const GRACE_MS = 60_000;
/** An account that has not changed for so long has no call under way that has changed it and not its rows. */
const QUIET_MS = 60_000;

/**
 * Removes expired blobs and uploads, interrupted removals, and chunks without a row. Any process may sweep; of processes that sweep at the same
 * time, one does the work.
 * @returns undefined if another process is sweeping, or has swept recently
 * @throws RepriseError `broker_unavailable`
 */
export async function sweepBlobs(
  storage: BlobStorage,
  { everyMs = EVERY_MS, nowMs = unixNow() }: SweepOptions = {},
): Promise<Sweep | undefined> {
  if (!(await takeTurn(storage, nowMs, everyMs))) return undefined;
  const beganUs = unixNow() * 1_000;
  // Before the rows: the row of an upload is there before its first chunk.
  const stored = await Array.fromAsync(storage.chunks.list());
  const named = new Set<string>();
  const bytes = new Map<TenantId, number>();
  const accounts: { tenant: TenantId; bytes: number; storedAtUs: number }[] = [];
  const counts = { blobs: 0, uploads: 0, orphans: 0, accounts: 0 };
  for await (const { subject, row, at, storedAtUs } of storage.rows.list()) {
    const place = parseBlobSubject(subject);
    if (row.kind === "account") {
      const tenant = tenantOf(subject);
      accounts.push({ tenant, bytes: row.bytes, storedAtUs });
      continue;
    }
    if (!place) continue;
    const { tenant } = place;
    const add = (more: number) => bytes.set(tenant, (bytes.get(tenant) ?? 0) + more);
    if (row.kind === "removed") {
      named.add(nameOf({ tenant, upload: row.chunks }));
      await endRemoval(storage, { tenant, subject, row, at });
    }
    if (row.kind === "blob") {
      named.add(nameOf({ tenant, upload: row.chunks }));
      if (!isOver(row, nowMs - GRACE_MS)) add(chargeOf(row.bytes));
      else if (await removeBlobRow(storage, { tenant, row, at })) counts.blobs++;
    }
    if (row.kind === "upload") {
      // A finished upload takes no more chunks: those under its name belong to its blob or to no row.
      if (row.reserved > 0) named.add(nameOf({ tenant, upload: row.id }));
      if (!isOver(row, nowMs - GRACE_MS)) add(row.reserved);
      else if (await removeUploadRow(storage, { tenant, row, at })) counts.uploads++;
    }
  }
  for (const ref of stored) {
    if (named.has(nameOf(ref))) continue;
    await storage.chunks.remove(ref);
    counts.orphans++;
  }
  for (const { tenant, bytes: said, storedAtUs } of accounts) {
    const sum = bytes.get(tenant) ?? 0;
    if (said === sum || storedAtUs > beganUs - QUIET_MS * 1_000) continue;
    if (await putAccount(storage, tenant, { said, sum })) counts.accounts++;
  }
  return counts;
}

async function takeTurn({ rows }: BlobStorage, nowMs: number, everyMs: number): Promise<boolean> {
  const { row, at } = await rows.read(BLOB_SWEEP_SUBJECT);
  if (row?.kind === "sweep" && Date.parse(row.at) > nowMs - everyMs) return false;
  const next = { version: 1, kind: "sweep", at: new Date(nowMs).toISOString() } as const;
  return (await rows.write(BLOB_SWEEP_SUBJECT, next, at)) !== undefined;
}

/** Only if it says still what it said when the rows were read. */
async function putAccount(
  { rows }: BlobStorage,
  tenant: TenantId,
  { said, sum }: { said: number; sum: number },
): Promise<boolean> {
  const subject = blobAccountSubject(tenant);
  const { row, at } = await rows.read(subject);
  if (row?.kind !== "account" || row.bytes !== said) return false;
  return (await rows.write(subject, { ...row, bytes: sum }, at)) !== undefined;
}

function nameOf({ tenant, upload }: UploadRef): string {
  return `${tenant}/${upload}`;
}

function tenantOf(subject: string): TenantId {
  return subject.split(".")[1] as TenantId;
}
