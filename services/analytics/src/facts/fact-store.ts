import type { BlobStore } from "@reprise/archive";
import type { LanePosition } from "@reprise/facts/lane";
import type { DeliveryRow, EncodedConnection, GenerationRow } from "@reprise/facts";
import { type GenerationRef, RepriseError } from "@reprise/protocol";
import { readParquetRows } from "@reprise/facts/tables";
import { commitKeyOf, tableNameOf } from "./parquet-commit.ts";
import { type LaneFacts, ObjectLaneFacts } from "./commit-facts.ts";
import { ObjectPlaces } from "./object-places.ts";
import type { RowSource } from "./row-source.ts";
import { forgetRows } from "./merging/forget-rows.ts";
import { MergedRows } from "./merging/merged-rows.ts";
import { DELIVERIES, GENERATIONS } from "./fact-tables.ts";
import { CommitTidier } from "./merging/tidy-commits.ts";

/** Where the commits of all lanes are kept. */
export interface FactStore {
  /** @param stream of logs */
  lane(stream: string): LaneFacts;
  /** @param stream OPS */
  deliveries(stream: string): LaneFacts<DeliveryRow, EncodedConnection>;
  /**
   * Where the lane of a stream stood at its newest commit, as far as it is known: for processes that do not consume it. Undefined before the first one.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  newest(stream: string): Promise<LanePosition | undefined>;
  outbox(sink: string, stream: string): Outbox;
  /**
   * Takes the metadata of generations out of their rows and of the folds that they were: it is the only text of a client in either.
   * @param rows of this store
   * @returns how many rows it has changed: 0 when called again
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  forget(stream: string, refs: readonly GenerationRef[], rows: RowSource): Promise<number>;
  tidier(stream: string): Pick<CommitTidier<unknown>, "tidy">;
}

/**
 * The commits of one stream as what a sink still has to get. Superseded ones are among them.
 *
 * All methods throw RepriseError `archive_unavailable` when the store can't be reached.
 */
export interface Outbox {
  /** The first commit that was not delivered whole. @throws RepriseError `archive_corrupt` */
  place(): Promise<number>;
  /** The rows of a commit, in its order. Undefined: it is not there yet. */
  rowsOf(n: number): Promise<readonly GenerationRow[] | undefined>;
  /** Everything before `next` was delivered. */
  advance(next: number): Promise<void>;
}

/** Commits as objects of a store. @param store creates exclusively */
export function createFactStore(store: BlobStore): FactStore {
  const places = new ObjectPlaces(store);
  return {
    lane: (stream) => new ObjectLaneFacts(store, GENERATIONS, stream),
    deliveries: (stream) => new ObjectLaneFacts(store, DELIVERIES, stream),
    async forget(stream, refs, rows) {
      const keys = await rows.objectsOf(refs.map(({ generation }) => generation));
      return forgetRows({ store, stream, refs, keys });
    },
    tidier: (stream) =>
      tableNameOf(stream) === "deliveries"
        ? new CommitTidier({ store, table: DELIVERIES, stream })
        : new CommitTidier({ store, table: GENERATIONS, stream }),
    newest: (stream) => places.newest(stream),
    outbox: (sink, stream) => createOutbox(store, stream, `sinks/${sink}/${stream}`),
  };
}

function createOutbox(store: BlobStore, stream: string, key: string): Outbox {
  const merged = new MergedRows(store, stream);
  return {
    async place() {
      const bytes = await store.get(key);
      if (!bytes) return 0;
      const { next } = JSON.parse(Buffer.from(bytes).toString()) as { next?: unknown };
      if (typeof next === "number" && Number.isSafeInteger(next) && next >= 0) return next;
      throw new RepriseError("archive_corrupt", `${key} is no place of a sink.`);
    },
    async rowsOf(n) {
      const commit = await store.get(commitKeyOf(stream, n));
      if (commit) return (await readParquetRows(commit)).map(GENERATIONS.toRow);
      return merged.rowsOf(n);
    },
    advance: (next) => store.put(key, Buffer.from(JSON.stringify({ next }))),
  };
}
