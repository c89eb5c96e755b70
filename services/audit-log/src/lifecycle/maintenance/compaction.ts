import { type Archive, type BlobStore, mergeSegmentFiles, parseDataKey, sha256Hex } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { describeFile } from "../../archiving/describe-file.ts";
import { type Compaction, TARGET_BYTES } from "./next-compaction.ts";

/**
 * Merges files of a tenant, as one commit that adds no leaf: segments stay as they are, byte by byte. The files that were merged stay in the store
 * for processes that are reading them.
 * @returns `fenced` when another process has removed one of them meanwhile
 * @throws RepriseError `archive_corrupt` when a file is missing or is not the one that was committed: it is left as it is, for `verify`;
 *   `archive_unavailable`
 */
export async function compact(
  { archive, store }: { archive: Archive; store: BlobStore },
  tenant: string,
  { day, stream, files }: Compaction,
): Promise<"committed" | "fenced"> {
  const contents = await Promise.all(
    files.map(async ({ key, sha256 }) => {
      const bytes = await store.get(key);
      if (bytes && sha256Hex(bytes) === sha256) return bytes;
      if (!archive.state.hasFile(tenant, key)) return undefined;
      throw new RepriseError("archive_corrupt", `${key} is not what was committed.`);
    }),
  );
  const whole = contents.filter((bytes) => bytes !== undefined);
  if (whole.length < contents.length) return "fenced";
  // `nextCompaction` takes only files whose names it has read.
  const names = files.map(({ key }) => parseDataKey(key)!);
  const place = {
    tenant,
    day,
    stream,
    first: Math.min(...names.map(({ first }) => first)),
    last: Math.max(...names.map(({ last }) => last)),
  };
  const merged = await mergeSegmentFiles(whole, { maxBytes: TARGET_BYTES });
  const described = merged.map((file) => ({ ...file, described: describeFile(place, file) }));
  for (const { described: file, bytes } of described) await store.put(file.key, bytes);
  const part = {
    tenant,
    leaves: [],
    files: described.map(({ described: file }) => file),
    removes: files.map(({ key }) => key),
    records: [],
  };
  return (await archive.append(() => ({ tenants: [part] }))).kind;
}
