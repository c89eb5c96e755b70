import type { BlobStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { readParquetRows } from "@reprise/tables";
import { commitKeyOf, tableNameOf } from "./commit.ts";
import type { FactStore, Outbox } from "./fact-store.ts";
import { ObjectLaneFacts } from "./object-lane-facts.ts";
import { ObjectPlaces } from "./object-places.ts";
import { forgetRows } from "./merging/forget-rows.ts";
import { MergedRows } from "./merging/merged-rows.ts";
import { DELIVERIES } from "./tables/deliveries-table.ts";
import { GENERATIONS } from "./tables/generations-table.ts";
import { CommitTidier } from "./merging/tidy-commits.ts";

/** Commits as objects of a store. @param store creates exclusively */
export function createObjectFacts(store: BlobStore): FactStore {
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
