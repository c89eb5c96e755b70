import { hash } from "node:crypto";
import type { BlobInfo, BlobStore } from "@reprise/archive";
import type { StoredFile } from "@reprise/tables";
import { tableNameOf } from "./commit.ts";
import { KeptListing } from "./listing/kept-listing.ts";
import type { StreamFiles } from "./listing/stream-listing.ts";
import type { TableName } from "./tables/fact-table.ts";

/** The files that have rows of a table, of all lanes: what is merged, and commits behind it that were not superseded. */
export function rowFilesOf(files: ReadonlyMap<string, StreamFiles>, table: TableName): readonly BlobInfo[] {
  return [...files].flatMap(([stream, { merged, commits }]) =>
    tableNameOf(stream) === table ? [...merged, ...commits] : [],
  );
}

/** What is written anew under its key has another size, as a rule, and another name in a cache then. */
export function toStoredFile({ key, bytes }: BlobInfo): StoredFile {
  return { key, bytes, sha256: hash("sha256", `${key} ${bytes}`) };
}

/** All of a table, listed now. @throws RepriseError `archive_unavailable`, `archive_corrupt` */
export async function listRowFiles(store: BlobStore, table: TableName): Promise<readonly StoredFile[]> {
  return rowFilesOf(await listingOf(store).files(), table).map(toStoredFile);
}

/** That of a store which keeps one. */
export function listingOf(store: BlobStore): KeptListing {
  return store instanceof KeptListing ? store : new KeptListing(store);
}
