import { zstdDecompressSync } from "node:zlib";
import { RepriseError } from "@reprise/protocol";
import { compressPieces, encodeJsonArray } from "./encode-json.ts";

const MAX_BASE_BYTES = 4 * 1_024 * 1_024 * 1_024;

/** All folds that go on behind a commit, by the subjects of their logs. They must not change before it is encoded. */
export function encodeBase(folds: Iterable<readonly [string, unknown]>): Promise<Uint8Array> {
  return compressPieces(encodeJsonArray(folds));
}

/** @throws RepriseError `archive_corrupt` */
export function decodeBase(bytes: Uint8Array, key: string): readonly (readonly [string, unknown])[] {
  try {
    const json = zstdDecompressSync(bytes, { maxOutputLength: MAX_BASE_BYTES }).toString();
    return JSON.parse(json) as [string, unknown][];
  } catch (cause) {
    throw new RepriseError("archive_corrupt", `${key} is no base of analytics.`, { cause });
  }
}
