import { hash } from "node:crypto";
import type { BlobInfo, BlobStore } from "@reprise/archive";
import type { StoredFile } from "@reprise/tables";
import { commitPrefix, parseCommitKey, tableNameOf } from "./commit.ts";
import type { TableName } from "./tables/fact-table.ts";
import { countingMerged, type MergedFile, parseMergedKey } from "./merging/merged-file.ts";
import { type CommitRange, holds, parseSuperseded } from "./superseded.ts";

/** One stream's objects with rows that count: each commit is in one of them. */
export interface StreamFiles {
  readonly merged: readonly MergedFile[];
  readonly commits: readonly (BlobInfo & { readonly n: number })[];
}

/**
 * The files that have rows of a table, of all lanes: what is merged, and commits behind it that were not superseded. What is written anew under its key has another size, as a rule, and another name in
 * a cache then.
 */
export async function listRowFiles(store: BlobStore, table: TableName): Promise<readonly StoredFile[]> {
  const all = await listStreamFiles(store);
  return [...all].flatMap(([stream, { merged, commits }]) =>
    (tableNameOf(stream) === table ? [...merged, ...commits] : []).map(({ key, bytes }) => ({
      key,
      bytes,
      sha256: hash("sha256", `${key} ${bytes}`),
    })),
  );
}

/**
 * Commits are listed last: one that is gone by then is in a merged file that was there before it went.
 * @param stream default: all
 */
export async function listStreamFiles(
  store: BlobStore,
  stream?: string,
): Promise<ReadonlyMap<string, StreamFiles>> {
  const under = stream === undefined ? "" : `${stream}/`;
  const superseded = new Map<string, CommitRange[]>();
  for await (const { key } of store.list(`superseded/${under}`)) {
    const range = parseSuperseded(key);
    if (range) push(superseded, range.stream, range);
  }
  const merged = new Map<string, MergedFile[]>();
  for await (const info of store.list(`merged/${under}`)) {
    const name = parseMergedKey(info.key);
    if (name) push(merged, name.stream, { ...info, ...name });
  }
  const files = new Map<string, { merged: readonly MergedFile[]; commits: (BlobInfo & { n: number })[] }>();
  for (const [name, found] of merged)
    files.set(name, { merged: countingMerged(found, superseded.get(name) ?? []), commits: [] });
  for (const prefix of stream === undefined ? ["generations/", "deliveries/"] : [commitPrefix(stream)])
    for await (const info of store.list(prefix)) {
      const commit = parseCommitKey(info.key);
      if (!commit) continue;
      const known = files.get(commit.stream) ?? { merged: [], commits: [] };
      files.set(commit.stream, known);
      const elsewhere = [...(superseded.get(commit.stream) ?? []), ...known.merged];
      if (!elsewhere.some((range) => holds(range, commit.n))) known.commits.push({ ...info, n: commit.n });
    }
  return files;
}

function push<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const list = lists.get(name);
  if (list) list.push(item);
  else lists.set(name, [item]);
}
