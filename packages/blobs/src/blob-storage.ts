import type { Broker, Publish } from "@reprise/broker";
import { BlobAccounts } from "./blob-accounts.ts";
import { BlobNames } from "./blob-names.ts";
import { BlobRows } from "./blob-rows.ts";
import { type BlobChunks, createBlobChunks } from "./blob-chunks.ts";

/** Blobs as all of their functions take them. */
export interface BlobStorage {
  readonly rows: BlobRows;
  readonly chunks: BlobChunks;
  readonly accounts: BlobAccounts;
  readonly names: BlobNames;
}

export interface BlobStorageOptions {
  readonly broker: Pick<Broker, "reads" | "bulk">;
  readonly publish: Publish;
  /** Returns how long a call to the broker that begins now tries again while the broker does not answer, in milliseconds. Default 20 s. */
  readonly budgetMs?: (() => number) | undefined;
}

const BUDGET_MS = 20_000;

/** No I/O: the streams must exist when something is asked of it. */
export function createBlobStorage({
  broker,
  publish,
  budgetMs = () => BUDGET_MS,
}: BlobStorageOptions): BlobStorage {
  const { reads, bulk } = broker;
  const access = { publish, reads, bulk, budgetMs };
  const rows = new BlobRows(access);
  return {
    rows,
    chunks: createBlobChunks(access),
    accounts: new BlobAccounts(rows),
    names: new BlobNames(rows),
  };
}
