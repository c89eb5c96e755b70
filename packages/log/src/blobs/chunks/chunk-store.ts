import type { StreamSeq, TenantId, UploadId } from "@reprise/protocol";

/** Whose bytes. */
export interface UploadRef {
  readonly tenant: TenantId;
  readonly upload: UploadId;
}

/** How far an upload has come. */
export interface ChunkPlace {
  /** How many chunks there are. */
  readonly chunks: number;
  /** How many bytes they have together. */
  readonly bytes: number;
  /** Where the last one lies in its stream; `STREAM_START` where there is none, or no stream. */
  readonly last: StreamSeq;
  /** Whether no chunk comes behind them any more. Absent: one may. */
  readonly isSealed?: boolean;
}

/**
 * Where the bytes of blobs are kept, in chunks: a stream of the broker, or a store of objects. A chunk is stored behind the one before it, or
 * not at all. Methods reject with RepriseError `broker_unavailable` or `archive_unavailable` when the store can't be reached.
 */
export interface ChunkStore {
  /** The largest chunk, in bytes. */
  readonly chunkBytes: number;
  /** Where an upload stands, as the store has it now. */
  place(ref: UploadRef): Promise<ChunkPlace>;
  /**
   * Stores a chunk.
   * @param bytes may be used again when this resolves
   * @returns the place behind it; undefined where another chunk, or the seal, is there already
   */
  append(ref: UploadRef, place: ChunkPlace, bytes: Uint8Array): Promise<ChunkPlace | undefined>;
  /**
   * Ends an upload: what is being appended to it meanwhile is not stored. May be repeated.
   * @returns the place, sealed; undefined where another chunk, or the seal, is there already
   */
  seal(ref: UploadRef, place: ChunkPlace): Promise<ChunkPlace | undefined>;
  /**
   * All bytes, in order, as far as they are there without a gap. Reads on as its reader takes them.
   */
  read(ref: UploadRef): AsyncGenerator<Uint8Array>;
  /** May be repeated. */
  remove(ref: UploadRef): Promise<void>;
  /** All uploads that have a chunk. */
  list(): AsyncIterable<UploadRef>;
}
