import { raceAbort, Semaphore, waitAtMost } from "@reprise/async";
import type { TenantId } from "@reprise/protocol";
import type { NamedFile } from "../request/request-body.ts";
import {
  type FilesUpstream,
  isUnknownFile,
  removeFile,
  uploadFile,
  type UploadOptions,
} from "./files-api.ts";

/** The files that a server has for this process. */
export interface ServerFiles {
  /**
   * What the server calls a tenant's file; it is uploaded where the server does not have it.
   * @throws as `uploadFile`
   */
  idOf(tenant: TenantId, file: NamedFile, options: UploadOptions): Promise<FileId>;
  /**
   * Forgets which of these ids, none of them twice, the server does not know any more.
   * @returns whether there are any, or some that are forgotten already
   * @throws the signal's reason
   */
  forgetUnknown(ids: readonly string[], signal: AbortSignal): Promise<boolean>;
  /** Deletes at the server what is kept, as far as that is done in time. */
  close(): Promise<void>;
}

interface FileId {
  readonly id: string;
  /** Whether it was uploaded just now. */
  readonly isNew: boolean;
}

export interface ServerFilesOptions {
  /** The most files that are kept; of one more the one goes that has not been named for the longest. Default 1,000. */
  readonly max?: number;
  /** How long a file is kept that no request names. Default an hour. */
  readonly keepMs?: number;
  /** How long files may take to be deleted at the end. Default 3 s. */
  readonly closeMs?: number;
}

interface Kept {
  readonly id: string;
  usedMs: number;
}

const MAX = 1_000;
const KEEP_MS = 3_600_000;
const REMOVALS = 4;
const REMOVE_MS = 5_000;
const CLOSE_MS = 3_000;

/**
 * Ids are kept for a tenant, a blob and its name: what one tenant has uploaded is never named for another, and what a part calls a file is told to
 * no request that calls it otherwise. Whoever asks has found the blob: one that is deleted or over is named no more, and is deleted at the server
 * once no request has named it for `keepMs`. A process that is killed leaves its files there.
 */
export function createServerFiles(upstream: FilesUpstream, options: ServerFilesOptions = {}): ServerFiles {
  const { max = MAX, keepMs = KEEP_MS, closeMs = CLOSE_MS } = options;
  /** Those that were named last are the last. */
  const kept = new Map<string, Kept>();
  const uploading = new Map<string, Promise<unknown>>();
  const removals = new Semaphore(REMOVALS);
  let timer: NodeJS.Timeout | undefined;

  /** Best effort. */
  function remove(id: string): Promise<void> {
    return removals
      .run(() => removeFile(upstream, id, AbortSignal.timeout(REMOVE_MS)))
      .catch(() => undefined);
  }

  function keep(key: string, { id }: Pick<Kept, "id">): void {
    kept.delete(key);
    kept.set(key, { id, usedMs: performance.now() });
    const [oldest] = kept;
    if (oldest && kept.size > max) void drop(oldest);
    timer ??= setTimeout(dropUnused, keepMs).unref();
  }

  function drop([key, { id }]: [string, Kept]): Promise<void> {
    kept.delete(key);
    return remove(id);
  }

  function dropUnused(): void {
    const overMs = performance.now() - keepMs;
    for (const entry of kept) if (entry[1].usedMs <= overMs) void drop(entry);
    const [oldest] = kept.values();
    timer = oldest && setTimeout(dropUnused, Math.max(1, oldest.usedMs - overMs)).unref();
  }

  return {
    async idOf(tenant, file, uploadOptions) {
      const key = JSON.stringify([tenant, file.media.blob, file.name ?? null]);
      for (;;) {
        const known = kept.get(key);
        if (known) {
          keep(key, known);
          return { id: known.id, isNew: false };
        }
        const other = uploading.get(key);
        if (!other) break;
        await raceAbort(other, uploadOptions.signal);
      }
      const upload = uploadFile(upstream, file, uploadOptions);
      // Others wait for its end, whatever that is.
      uploading.set(
        key,
        upload.catch(() => undefined),
      );
      try {
        const id = await upload;
        keep(key, { id });
        return { id, isNew: true };
      } finally {
        uploading.delete(key);
      }
    },
    async forgetUnknown(ids, signal) {
      const mine = [...kept].filter(([, { id }]) => ids.includes(id));
      // What is not kept any more was dropped, or another request has found out first.
      let isAny = mine.length < ids.length;
      for (const [key, { id }] of mine) {
        if (!(await isUnknownFile(upstream, id, signal).catch(() => false))) continue;
        isAny = true;
        if (kept.get(key)?.id === id) kept.delete(key);
      }
      signal.throwIfAborted();
      return isAny;
    },
    async close() {
      clearTimeout(timer);
      await waitAtMost(closeMs, Promise.all([...kept].map(drop)));
    },
  };
}
