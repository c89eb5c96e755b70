import { type BlobStore, probeStore } from "@reprise/archive";
import { createBrokerFencedStore } from "@reprise/facts/lane";
import type { Broker, Publish } from "@reprise/broker";
import { ANALYTICS_COMMITS, toRepriseError } from "@reprise/protocol";
import { type FactStore, createFactStore } from "./facts/fact-store.ts";
import { createIdentifiedStore, identifyRows } from "./facts/identity/identified-store.ts";
import { createLaneRecords, type LaneRecords } from "./facts/identity/lane-records.ts";
import { StoreIdentity } from "./facts/identity/store-identity.ts";
import { KeptListing } from "./facts/listing/kept-listing.ts";
import type { RowSource } from "./facts/row-source.ts";

export interface OpenStoreOptions {
  readonly store: BlobStore;
  readonly openRows: (listing: KeptListing) => Promise<RowSource & AsyncDisposable>;
  readonly broker: Broker;
  readonly publish: Publish;
  /** Those that lanes consume. */
  readonly streams: readonly string[];
  readonly onError: (error: unknown) => void;
}

export interface OpenStore {
  readonly facts: FactStore;
  readonly rows: RowSource & AsyncDisposable;
  readonly identity: StoreIdentity;
  readonly records: LaneRecords;
  /** The store is a copy of an earlier time, and that is known. */
  readonly goBack: () => void;
  /** Another process may commit to a stream from now on. */
  readonly ended: (stream: string) => void;
}

/** Opens the store of analytics. Waits for one that is away or is not the platform's own. @throws RepriseError `config_invalid`, `broker_unavailable` */
export async function openStore(options: OpenStoreOptions): Promise<OpenStore> {
  const { store, openRows, broker, publish, streams, onError } = options;
  const records = createLaneRecords(broker.main, publish);
  const known = async () => {
    const kept = await Promise.all(streams.map((stream) => records.read(stream)));
    return kept.flatMap((record) => (record ? [record.store] : []));
  };
  const commits = createCommitStore(store, (raw) =>
    createBrokerFencedStore(raw, { broker, publish, archive: ANALYTICS_COMMITS, onError }),
  );
  const identity = new StoreIdentity({ store: commits, known });
  await identity.check().catch((error: unknown) => {
    if (toRepriseError(error).code !== "archive_unavailable") throw error;
    onError(error);
  });
  const listing = new KeptListing(createIdentifiedStore(commits, identity), streams);
  // Names and files in the cache would answer without the store.
  const rows = identifyRows(await openRows(listing), identity);
  return {
    facts: createFactStore(listing),
    rows,
    identity,
    records,
    goBack: () => listing.goBack(),
    ended: (stream) => listing.ended(stream),
  };
}

/** Fences a store that can't create exclusively; the first `create` finds out. @throws RepriseError `archive_unavailable` from `create` */
function createCommitStore(store: BlobStore, fence: (store: BlobStore) => BlobStore): BlobStore {
  let chosen: Promise<BlobStore> | undefined;
  const choose = async () => ((await probeStore(store)) === "conditional" ? store : fence(store));
  return {
    async create(key, bytes) {
      if (!chosen) {
        chosen = choose();
        chosen.catch(() => (chosen = undefined));
      }
      return (await chosen).create(key, bytes);
    },
    get: (key, range) => store.get(key, range),
    put: (key, bytes) => store.put(key, bytes),
    list: (prefix, after) => store.list(prefix, after),
    delete: (key) => store.delete(key),
  };
}
