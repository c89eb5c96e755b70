/** Where in an object to begin, and how many bytes to read at most. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

export interface BlobInfo {
  readonly key: string;
  readonly bytes: number;
}

/**
 * Storage of an archive: objects under keys of `A-Z a-z 0-9 . _ = -` and `/`; a method that is given another key throws TypeError. No key
 * is another object's key followed by a slash and more. Written or deleted objects are durable when the promise resolves.
 * Every method rejects with RepriseError `archive_unavailable` when the store can't be reached or fails; the operation may then have
 * happened or not.
 */
export interface BlobStore {
  /** Undefined when there is no such object. A range beyond the end gives what there is. */
  get(key: string, range?: ByteRange): Promise<Uint8Array | undefined>;
  /** Creates or replaces. Readers see the old bytes or the new, never a part. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Creates an object that must not be there: of many that try, one gets `created`. `exists` when other bytes are there already; the
   * very same bytes are what an earlier try of ours has left, and count as `created`.
   */
  create(key: string, bytes: Uint8Array): Promise<"created" | "exists">;
  /**
   * Lists all objects whose key begins with `prefix`, in the order of their keys. Objects that are created or deleted meanwhile may be listed or not; names
   * of another form are left out.
   * @param after only those whose keys come after this one
   */
  list(prefix: string, after?: string): AsyncIterable<BlobInfo>;
  /** No error when there is no such object. */
  delete(key: string): Promise<void>;
}
