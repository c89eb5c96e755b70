import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";

/** What a store is told from every other one by. */
export interface StoreMarker {
  readonly id: string;
  /** Stores in whose place an operator has put this one. */
  readonly replaces: readonly string[];
}

/** Where a marker is kept, of whatever kind the store is. */
export interface MarkedStore {
  /** Undefined where it has none. @throws RepriseError `archive_unavailable`, `archive_corrupt` */
  marker(): Promise<StoreMarker | undefined>;
  /** Marks a store that has no marker. One that another process has made meanwhile stays. @throws RepriseError `archive_unavailable` */
  mark(marker: StoreMarker): Promise<void>;
  /** Marks a store, whatever its marker was. @throws RepriseError `archive_unavailable` */
  remark(marker: StoreMarker): Promise<void>;
}

const ID_BYTES = 12;

export function newStoreMarker(replaces: readonly string[] = []): StoreMarker {
  return { id: randomBytes(ID_BYTES).toString("hex"), replaces };
}

export function encodeMarker(marker: StoreMarker): Uint8Array {
  return Buffer.from(`${JSON.stringify(marker)}\n`);
}

/** @throws RepriseError `archive_corrupt` */
export function decodeMarker(bytes: Uint8Array, key: string): StoreMarker {
  try {
    return parseMarker(JSON.parse(Buffer.from(bytes).toString()));
  } catch (cause) {
    throw new RepriseError("archive_corrupt", `${key} is not a marker of a store of analytics.`, { cause });
  }
}

/** @throws TypeError */
export function parseMarker(value: unknown): StoreMarker {
  const { id, replaces } = value as Partial<StoreMarker>;
  if (typeof id !== "string" || id === "" || !Array.isArray(replaces) || !replaces.every(isText))
    throw new TypeError("not a marker");
  return { id, replaces };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
