import { zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** A page of a file of ours has 64 KiB and one value; what says it is larger than this is none. */
const MAX_PAGE_BYTES = 1_073_741_824;

/** Compressors for hyparquet-writer. */
export const ZSTD_COMPRESSORS = { ZSTD: (page: Uint8Array): Uint8Array => zstdCompressSync(page) };

/** Decompressors for hyparquet. @throws RangeError for pages of more than 1 GiB, and the errors of zlib */
export const ZSTD_DECOMPRESSORS = {
  ZSTD(page: Uint8Array, length: number): Uint8Array {
    if (length > MAX_PAGE_BYTES)
      throw new RangeError(`A page of ${length} bytes is larger than ${MAX_PAGE_BYTES}.`);
    return zstdDecompressSync(page, { maxOutputLength: Math.max(length, 1) });
  },
};
