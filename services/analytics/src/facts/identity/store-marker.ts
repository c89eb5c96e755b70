import { randomBytes } from "node:crypto";
import type { BlobStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";

/** The marker that identifies a store. */
export interface StoreMarker {
  readonly id: string;
  /** Stores in whose place an operator has put this one. */
  readonly replaces: readonly string[];
}

const KEY = "store.json";

/** Undefined for a store without one. @throws RepriseError `archive_unavailable`, `archive_corrupt` */
export async function readMarker(store: Pick<BlobStore, "get">): Promise<StoreMarker | undefined> {
  const bytes = await store.get(KEY);
  if (!bytes) return undefined;
  try {
    return parseMarker(JSON.parse(Buffer.from(bytes).toString()));
  } catch (cause) {
    throw new RepriseError("archive_corrupt", `${KEY} is not a marker of a store of analytics.`, { cause });
  }
}

/** Marks a store without a marker. One that another process has made meanwhile stays. @throws RepriseError `archive_unavailable` */
export async function markStore(store: Pick<BlobStore, "create">, marker: StoreMarker): Promise<void> {
  await store.create(KEY, Buffer.from(`${JSON.stringify(marker)}\n`));
}

const ID_BYTES = 12;

export function newStoreMarker(replaces: readonly string[] = []): StoreMarker {
  return { id: randomBytes(ID_BYTES).toString("hex"), replaces };
}

/** @throws TypeError */
function parseMarker(value: unknown): StoreMarker {
  const { id, replaces } = value as Partial<StoreMarker>;
  if (typeof id !== "string" || id === "" || !Array.isArray(replaces) || !replaces.every(isText))
    throw new TypeError("not a marker");
  return { id, replaces };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
