import type { BlobStore } from "@reprise/archive";
import { createBrokerFencedStore } from "@reprise/lane";
import type { Broker, Publish } from "@reprise/log";
import { ANALYTICS_COMMITS, toRepriseError } from "@reprise/protocol";
import type { FactStore } from "./facts/fact-store.ts";
import { createCommitStore } from "./facts/identity/commit-store.ts";
import { createIdentifiedStore, markedObjects } from "./facts/identity/identified-store.ts";
import { identifyFacts } from "./facts/identity/identified-facts.ts";
import { identifyRows } from "./facts/identity/identified-rows.ts";
import { createLaneRecords, type LaneRecords } from "./facts/identity/lane-records.ts";
import { StoreIdentity } from "./facts/identity/store-identity.ts";
import type { MarkedStore } from "./facts/identity/store-marker.ts";
import { KeptListing } from "./facts/listing/kept-listing.ts";
import { createObjectFacts } from "./facts/object-facts.ts";
import { markedPostgres } from "./facts/postgres/marked-postgres.ts";
import { createPostgresFacts } from "./facts/postgres/postgres-facts.ts";
import { Postgres } from "./facts/postgres/postgres.ts";
import type { RowSource } from "./facts/row-source.ts";

export interface OpenStoreOptions {
  readonly store: BlobStore | Postgres;
  /** Opens its rows for reading. @param listing of the store, where rows are in objects */
  readonly openRows: (listing?: KeptListing) => Promise<RowSource & AsyncDisposable>;
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

/** Opens the store of analytics, as the one that it was. One that is away, or another one, is waited for. @throws RepriseError `config_invalid`, `broker_unavailable` */
export async function openStore(options: OpenStoreOptions): Promise<OpenStore> {
  const { store, openRows, broker, publish, streams, onError } = options;
  const records = createLaneRecords(broker.main, publish);
  const known = async () => {
    const kept = await Promise.all(streams.map((stream) => records.read(stream)));
    return kept.flatMap((record) => (record ? [record.store] : []));
  };
  const identify = async (marked: MarkedStore) => {
    const identity = new StoreIdentity({ store: marked, known });
    await identity.check().catch((error: unknown) => {
      if (toRepriseError(error).code !== "archive_unavailable") throw error;
      onError(error);
    });
    return identity;
  };
  if (store instanceof Postgres) {
    const identity = await identify(markedPostgres(store));
    const rows = identifyRows(await openRows(), identity);
    const facts = identifyFacts(createPostgresFacts(store), identity);
    return { facts, rows, identity, records, goBack: () => {}, ended: () => {} };
  }
  const commits = createCommitStore(store, (raw) =>
    createBrokerFencedStore(raw, { broker, publish, archive: ANALYTICS_COMMITS, onError }),
  );
  const identity = await identify(markedObjects(commits));
  const listing = new KeptListing(createIdentifiedStore(commits, identity), streams);
  // What is listed and fetched already could be answered without the store.
  const rows = identifyRows(await openRows(listing), identity);
  return {
    facts: createObjectFacts(listing),
    rows,
    identity,
    records,
    goBack: () => listing.goBack(),
    ended: (stream) => listing.ended(stream),
  };
}
