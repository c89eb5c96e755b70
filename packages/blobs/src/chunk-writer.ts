import { createHash } from "node:crypto";
import { RepriseError, SNIFFED_BYTES, STREAM_START } from "@reprise/protocol";
import { type BlobChunks, CHUNK_BYTES, type ChunkPlace, type UploadRef } from "./blob-chunks.ts";

export interface ChunkWriterOptions {
  readonly chunks: BlobChunks;
  readonly ref: UploadRef;
  /** Limit of the upload's bytes. */
  readonly maxBytes: number;
}

/** Describes content that is stored. */
export interface ContentSum {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** Its first `SNIFFED_BYTES`. */
  readonly head: Uint8Array;
}

/** Collects what a client sends in one chunk at a time, and stores it: a piece is taken when all before it is stored, or fits beside it. */
export class ChunkWriter {
  readonly #options: ChunkWriterOptions;
  readonly #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  readonly #hash = createHash("sha256");
  #head: Uint8Array = new Uint8Array();
  #filled = 0;
  #place: ChunkPlace = { chunks: 0, bytes: 0, last: STREAM_START };

  constructor(options: ChunkWriterOptions) {
    this.#options = options;
  }

  /** Describes the content once it is flushed. To be called once. */
  sum(): ContentSum {
    return { sha256: this.#hash.digest("hex"), bytes: this.#place.bytes, head: this.#head };
  }

  /** @throws RepriseError `body_too_large`, `blob_not_found` if the upload was removed meanwhile, `broker_unavailable` */
  async write(piece: Uint8Array): Promise<void> {
    const { maxBytes } = this.#options;
    if (this.#place.bytes + this.#filled + piece.length > maxBytes)
      throw new RepriseError("body_too_large", `The blob is larger than ${maxBytes} bytes.`, {
        param: "body",
      });
    this.#hash.update(piece);
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
    if (!next) throw uploadRemoved();
    this.#place = next;
    this.#filled = 0;
  }
}

/** The error for a caller that stores content which an erasure or a sweep has removed meanwhile. */
export function uploadRemoved(): RepriseError {
  return new RepriseError("blob_not_found", "The blob was removed while it was stored.", { param: "body" });
}
