import { RepriseError, SNIFFED_BYTES } from "@reprise/protocol";
import { createHash, type Hash } from "node:crypto";
import type { ChunkPlace, ChunkStore, UploadRef } from "./chunk-store.ts";

export interface ChunkWriterOptions {
  readonly chunks: ChunkStore;
  readonly ref: UploadRef;
  readonly place: ChunkPlace;
  /** The most bytes that the upload may have, those before `place` included. */
  readonly maxBytes: number;
}

/** Of content that was seen whole. */
export interface ContentSum {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** Its first `SNIFFED_BYTES`. */
  readonly head: Uint8Array;
}

/** The length of content whose beginning came with an earlier request. */
export interface ContentLength {
  readonly bytes: number;
  readonly sha256?: undefined;
}

/** What a client sends in small pieces may end in so many chunks beyond those that are full. */
const SHORT_CHUNKS = 64;

/** Collects what a client sends in one chunk at a time, and stores it: a piece is taken when all before it is stored, or fits beside it. */
export class ChunkWriter {
  readonly #options: ChunkWriterOptions;
  readonly #buffer: Buffer;
  readonly #hash: Hash | undefined;
  #head: Uint8Array = new Uint8Array();
  #filled = 0;
  #place: ChunkPlace;

  constructor(options: ChunkWriterOptions) {
    this.#options = options;
    this.#place = options.place;
    this.#buffer = Buffer.allocUnsafeSlow(options.chunks.chunkBytes);
    if (options.place.bytes === 0) this.#hash = createHash("sha256");
  }

  /** What is stored. */
  get place(): ChunkPlace {
    return this.#place;
  }

  /** Of all content; its length alone where some of it came with an earlier request. Asked for once. */
  sum(): ContentSum | ContentLength {
    if (!this.#hash) return { bytes: this.#place.bytes };
    return { sha256: this.#hash.digest("hex"), bytes: this.#place.bytes, head: this.#head };
  }

  /** @throws RepriseError `body_too_large`, `upload_conflict` where another request has gone on with the upload, `broker_unavailable` */
  async write(piece: Uint8Array): Promise<void> {
    const { maxBytes } = this.#options;
    if (this.#place.isSealed && piece.length > 0) throw goneOn();
    if (this.#place.bytes + this.#filled + piece.length > maxBytes)
      throw new RepriseError("body_too_large", `The blob is larger than ${maxBytes} bytes.`, {
        param: "body",
      });
    this.#hash?.update(piece);
    for (let from = 0; from < piece.length;) {
      const part = piece.subarray(from, from + this.#buffer.length - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      from += part.length;
      if (this.#filled === this.#buffer.length) await this.flush();
    }
  }

  /** Stores what is left. */
  async flush(): Promise<void> {
    if (this.#filled === 0) return;
    const { chunks, ref } = this.#options;
    const bytes = this.#buffer.subarray(0, this.#filled);
    if (this.#place.bytes === 0) this.#head = Uint8Array.from(bytes.subarray(0, SNIFFED_BYTES));
    const next = await chunks.append(ref, this.#place, bytes);
    if (!next) throw goneOn();
    this.#place = next;
    this.#filled = 0;
  }

  /** Stores what is left of a request that was cut off, unless such requests have made too many short chunks: then it is sent again. */
  async flushCut(): Promise<void> {
    const { chunks, maxBytes } = this.#options;
    if (this.#place.chunks < Math.ceil(maxBytes / chunks.chunkBytes) + SHORT_CHUNKS) await this.flush();
  }
}

/** Where what a request brings has no place behind what is there. */
export function goneOn(): RepriseError {
  const message = "Another request has gone on with this upload, or has finished it.";
  return new RepriseError("upload_conflict", message, { param: "Upload-Offset" });
}

/**
 * Reads content again.
 * @throws RepriseError `broker_unavailable`, `archive_unavailable`
 */
export async function sumOf(chunks: ChunkStore, ref: UploadRef): Promise<ContentSum> {
  const hash = createHash("sha256");
  const heads: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks.read(ref)) {
    if (bytes < SNIFFED_BYTES) heads.push(Uint8Array.from(chunk.subarray(0, SNIFFED_BYTES - bytes)));
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest("hex"), bytes, head: Buffer.concat(heads) };
}
