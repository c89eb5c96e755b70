import type { UnixMs } from "@reprise/protocol";
import { type Archive, type BlobStore, parseDataKey } from "@reprise/archive";

const GRACE_MS = 86_400_000;

/**
 * Deletes files that belong to no archive: those that were merged or whose time was over, and those whose archiver died before the
 * commit. Each is left for a day since it was first seen here, for readers and archivers that still use it; and until the
 * archive has passed its place in its stream, after which it cannot be committed any more.
 */
export class Sweeper {
  readonly #archive: Archive;
  readonly #store: BlobStore;
  readonly #graceMs: number;
  /** Since when nothing names it. */
  readonly #unnamedSince = new Map<string, number>();

  constructor({
    archive,
    store,
    graceMs = GRACE_MS,
  }: {
    archive: Archive;
    store: BlobStore;
    graceMs?: number;
  }) {
    this.#archive = archive;
    this.#store = store;
    this.#graceMs = graceMs;
  }

  /**
   * @returns what was deleted
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async sweep(nowMs: UnixMs): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of this.#store.list("data/")) keys.push(key);
    // What was listed before the commits are read is named by one of them, if by any.
    await this.#archive.refresh();
    const unnamed = new Set(keys.filter((key) => this.#isUnnamed(key)));
    for (const key of this.#unnamedSince.keys()) if (!unnamed.has(key)) this.#unnamedSince.delete(key);
    const deleted: string[] = [];
    for (const key of unnamed) {
      const since = this.#unnamedSince.get(key) ?? nowMs;
      this.#unnamedSince.set(key, since);
      if (nowMs - since < this.#graceMs) continue;
      await this.#store.delete(key);
      this.#unnamedSince.delete(key);
      deleted.push(key);
    }
    return deleted;
  }

  #isUnnamed(key: string): boolean {
    const { state } = this.#archive;
    const name = parseDataKey(key);
    if (!name || state.hasFile(name.tenant, key)) return false;
    return name.last <= (state.lanes.get(name.stream)?.last ?? -1);
  }
}
