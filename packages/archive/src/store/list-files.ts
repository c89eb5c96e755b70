import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { RepriseError } from "@reprise/protocol";
import type { BlobInfo } from "./blob-store.ts";
import { assertKeyPrefix, isObjectKey } from "./object-key.ts";

/** The objects of a folder in the order of their keys; holds the names of one folder per level in memory. */
export async function* listFiles(
  dir: string,
  prefix: string,
  { what, after = "" }: { readonly what: string; readonly after?: string | undefined },
): AsyncGenerator<BlobInfo> {
  const folder = assertKeyPrefix(prefix).slice(0, prefix.lastIndexOf("/") + 1);
  yield* walk({ dir, prefix, what, after }, folder);
}

interface Walked {
  readonly dir: string;
  readonly prefix: string;
  readonly what: string;
  readonly after: string;
}

async function* walk(walked: Walked, folder: string): AsyncGenerator<BlobInfo> {
  const { dir, prefix, what, after } = walked;
  for (const { key, isFolder } of await withFileErrors(what, () => readFolder(dir, folder))) {
    if (isFolder) {
      const isBefore = key < after && !after.startsWith(key);
      if (!isBefore && (key.startsWith(prefix) || prefix.startsWith(key))) yield* walk(walked, key);
    } else if (key > after && key.startsWith(prefix)) {
      const bytes = await withFileErrors(what, () => sizeOf(join(dir, key)));
      if (bytes !== undefined) yield { key, bytes };
    }
  }
}

/** The keys in a folder begin with its name and a slash: that decides its place among the files. */
async function readFolder(dir: string, folder: string): Promise<{ key: string; isFolder: boolean }[]> {
  try {
    const entries = await readdir(join(dir, folder), { withFileTypes: true });
    return entries
      .filter((entry) => isObjectKey(`${folder}${entry.name}`))
      .map((entry) => ({ entry, isFolder: entry.isDirectory() }))
      .map(({ entry, isFolder }) => ({ key: `${folder}${entry.name}${isFolder ? "/" : ""}`, isFolder }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  } catch (error) {
    if (hasFileCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** Undefined when it was deleted meanwhile. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasFileCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/**
 * Runs what touches a folder.
 * @param what the folder, as errors name it
 * @throws RepriseError `archive_unavailable` in place of what the operating system says
 */
export async function withFileErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    // A wrong key: a defect of the caller, not the disk's.
    if (cause instanceof TypeError) throw cause;
    throw new RepriseError("archive_unavailable", `${what}: ${(cause as Error).message}`, { cause });
  }
}

export function hasFileCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}
