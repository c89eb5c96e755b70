import { hash } from "node:crypto";
import type { BlobStore } from "@reprise/archive";
import type { StoredFile } from "@reprise/tables";
import { parseCommitKey } from "./commit.ts";
import { parseSuperseded } from "./object-lane-facts.ts";

/** The files that have rows, of all lanes: commits that were not superseded. An object of a key is created once, so the key names its bytes. */
export async function listRowFiles(store: BlobStore): Promise<readonly StoredFile[]> {
  const superseded = new Map<string, { first: number; last: number }[]>();
  for await (const { key } of store.list("superseded/")) {
    const range = parseSuperseded(key);
    if (!range) continue;
    const ranges = superseded.get(range.stream) ?? [];
    superseded.set(range.stream, [...ranges, range]);
  }
  const files: StoredFile[] = [];
  for await (const { key, bytes } of store.list("generations/")) {
    const commit = parseCommitKey(key);
    if (!commit) continue;
    const { stream, n } = commit;
    if (superseded.get(stream)?.some(({ first, last }) => first <= n && n <= last)) continue;
    files.push({ key, bytes, sha256: hash("sha256", key) });
  }
  return files;
}
