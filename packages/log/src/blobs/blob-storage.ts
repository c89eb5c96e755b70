import type { Broker } from "../nats/connection.ts";
import type { Publish } from "../nats/publisher.ts";
import { BlobAccounts } from "./blob-accounts.ts";
import { BlobNames } from "./blob-names.ts";
import { BlobRows } from "./blob-rows.ts";
import { type BlobBroker, createBrokerChunks } from "./chunks/broker-chunks.ts";
import type { ChunkStore } from "./chunks/chunk-store.ts";
import { createObjectChunks, type ObjectStore } from "./chunks/object-chunks.ts";

/** Blobs as all of their functions take them. */
export interface BlobStorage {
  readonly rows: BlobRows;
  readonly chunks: ChunkStore;
  readonly accounts: BlobAccounts;
  readonly names: BlobNames;
}

export interface BlobStorageOptions {
  readonly broker: Pick<Broker, "reads" | "bulk">;
  readonly publish: Publish;
  /** How long a call to the broker that begins now goes on while that does not answer, in milliseconds. Default 20 s. */
  readonly budgetMs?: (() => number) | undefined;
  /** Where bytes are kept. Default: in the broker. */
  readonly objects?: ObjectStore | undefined;
}

const BUDGET_MS = 20_000;

/** No I/O: the streams must exist when something is asked of it. */
export function createBlobStorage({
  broker,
  publish,
  budgetMs = () => BUDGET_MS,
  objects,
}: BlobStorageOptions): BlobStorage {
  const { reads, bulk } = broker;
  const access: BlobBroker = { publish, reads, bulk, budgetMs };
  const rows = new BlobRows(access);
  return {
    rows,
    chunks: objects ? createObjectChunks(objects) : createBrokerChunks(access),
    accounts: new BlobAccounts(rows),
    names: new BlobNames(rows),
  };
}
