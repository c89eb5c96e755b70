import { type GenerationRef, RepriseError } from "@reprise/protocol";
import type { ArchiveState } from "../commit/archive-state.ts";
import type { ArchiveFile } from "../commit/commit.ts";
import type { DataKey, Keyring } from "../keys/keyring.ts";
import { openSegmentFile, type SegmentFile } from "../parquet/open-segment-file.ts";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import { fingerprintOf, holdsFingerprint } from "../segment/fingerprint.ts";
import { openSegment } from "../segment/segment.ts";
import type { ArchivedMessage, Segment, SegmentHeader, SegmentKind } from "../segment/segment-header.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { compareStored } from "./log-layout.ts";
import { LruCache } from "../store/lru-cache.ts";
import type { ArchiveRecord } from "../commit/record.ts";

/** A segment, and where it lies now. */
export interface PlacedSegment {
  readonly header: SegmentHeader;
  readonly file: ArchiveFile;
  readonly row: number;
}

/** The members of an archive that are needed to read single generations. */
export interface ReadableArchive {
  readonly state: Pick<ArchiveState, "files" | "hasFile" | "records">;
  readonly store: Pick<BlobStore, "get">;
  refresh(): Promise<unknown>;
}

export interface SegmentReaderOptions {
  archive: ReadableArchive;
  keyring: Pick<Keyring, "open">;
}

/** Files whose ends are kept in memory, some kilobytes each. */
const OPEN_FILES = 256;

/**
 * Finds the segments of one generation and opens them. What it finds is as new as what the archive has read of its commits; a file that compaction
 * has replaced meanwhile makes it read the newer ones.
 */
export class SegmentReader {
  readonly #archive: ReadableArchive;
  readonly #keyring: Pick<Keyring, "open">;
  readonly #files = new LruCache<Promise<SegmentFile>>(OPEN_FILES);
  readonly #erasures = new Map<string, { readonly records: number; readonly erasures: Erasures }>();

  constructor({ archive, keyring }: SegmentReaderOptions) {
    this.#archive = archive;
    this.#keyring = keyring;
  }

  /** Returns the erasures of a tenant, as far as the archive has read. */
  erasures(tenant: string): Erasures {
    const records = this.#archive.state.records(tenant);
    const known = this.#erasures.get(tenant);
    if (known?.records === records.length) return known.erasures;
    const erasures = erasuresOf(records);
    this.#erasures.set(tenant, { records: records.length, erasures });
    return erasures;
  }

  /**
   * In the order in which their messages were stored.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  find({ tenant, generation }: GenerationRef, kinds: readonly SegmentKind[]): Promise<PlacedSegment[]> {
    const fingerprint = fingerprintOf(generation);
    return this.#untilUnmoved(tenant, async () => {
      const files = this.#archive.state.files(tenant).filter((file) => holdsFingerprint(file, fingerprint));
      const found = await Promise.all(files.map((file) => this.#rowsOf(file, generation)));
      return found
        .flat()
        .filter(({ header }) => header.tenant === tenant && kinds.includes(header.kind))
        .toSorted((a, b) => compareStored(a.header, b.header));
    });
  }

  /**
   * The segment as it is stored.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  read({ header, file, row }: PlacedSegment): Promise<Segment> {
    return this.#untilUnmoved(header.tenant, async () => {
      if (this.#archive.state.hasFile(header.tenant, file.key)) return (await this.#open(file)).segment(row);
      return this.#readMoved(header);
    });
  }

  /**
   * Returns the sealed messages of a segment.
   * @throws RepriseError `generation_erased` when its key was destroyed, `archive_unavailable` too when there is no such key,
   * `archive_corrupt`
   */
  async open(segment: PlacedSegment): Promise<ArchivedMessage[]> {
    const key = await this.#keyOf(segment.header);
    return openSegment(await this.read(segment), key);
  }

  async #keyOf({ tenant, generation, kid }: SegmentHeader): Promise<DataKey> {
    // The keyring may remember a key for some seconds that another process has destroyed.
    const isDestroyed = this.erasures(tenant).kids.has(kid);
    const key = isDestroyed ? "destroyed" : await this.#keyring.open(tenant, kid);
    if (key === "destroyed")
      throw new RepriseError("generation_erased", `Generation ${generation} was erased.`, { param: "id" });
    if (key === "unknown")
      throw new RepriseError("archive_unavailable", `The keys of the archive lack key ${kid}.`);
    return key;
  }

  async #rowsOf(file: ArchiveFile, generation: string): Promise<PlacedSegment[]> {
    const rows = await (await this.#open(file)).rowsOf(generation);
    return rows.map(({ row, header }) => ({ row, header, file }));
  }

  /** Compaction keeps segments as they are: the one with the same nonce is the same one. */
  async #readMoved({ tenant, generation, kind, nonce }: SegmentHeader): Promise<Segment> {
    const found = await this.find({ tenant, generation } as GenerationRef, [kind]);
    const moved = found.find(({ header }) => header.nonce === nonce);
    if (!moved)
      throw new RepriseError(
        "archive_unavailable",
        `A segment of ${generation} is no longer in the archive.`,
      );
    return (await this.#open(moved.file)).segment(moved.row);
  }

  /** A process that replaces a file commits that first. */
  async #untilUnmoved<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof FileGone)) throw error;
        this.#files.delete(error.key);
        await this.#archive.refresh();
        if (this.#archive.state.hasFile(tenant, error.key)) throw archiveCorrupt(`${error.key} is missing.`);
      }
    }
  }

  #open({ key, bytes }: ArchiveFile): Promise<SegmentFile> {
    const present = this.#files.get(key);
    if (present) return present;
    const { store } = this.#archive;
    const opened = openSegmentFile(async (range) => {
      const part = await store.get(key, range);
      if (!part) throw new FileGone(key);
      return part;
    }, bytes);
    this.#files.set(key, opened);
    opened.catch(() => this.#files.delete(key));
    return opened;
  }
}

/** An object that a commit has named is not there. */
class FileGone extends RepriseError {
  readonly key: string;

  constructor(key: string) {
    super("archive_unavailable", `${key} is not there.`);
    this.key = key;
  }
}

/** The erased data of a tenant: the destroyed keys, and their generations. */
export interface Erasures {
  readonly kids: ReadonlySet<string>;
  /** When, ISO 8601. */
  readonly generations: ReadonlyMap<string, string>;
}

const NOTHING: Erasures = { kids: new Set(), generations: new Map() };

/** Returns the erasures in a tenant's records, oldest first. A request that was not carried out yet has erased nothing. */
export function erasuresOf(records: readonly ArchiveRecord[]): Erasures {
  if (!records.some(({ kind }) => kind === "key_destroyed")) return NOTHING;
  const kids = new Set<string>();
  const generations = new Map<string, string>();
  const requested = new Map<string, string[]>();
  for (const record of records) {
    // Each request of an erasure names what the earlier ones have not.
    if (record.kind === "erasure_requested")
      requested.set(record.id, [...(requested.get(record.id) ?? []), ...record.generations]);
    if (record.kind !== "key_destroyed") continue;
    for (const kid of record.kids) kids.add(kid);
    for (const generation of requested.get(record.id) ?? []) generations.set(generation, record.at);
  }
  return { kids, generations };
}
