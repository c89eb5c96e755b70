import { join } from "node:path";
import { type BlobStore, createFileStore } from "@reprise/archive";
import { createFaultyStore, dyingAt } from "@reprise/archive/testing";
import { localFiles } from "@reprise/facts/tables";
import { createTempDir } from "@reprise/testkit";
import { createFactStore, type FactStore } from "../facts/fact-store.ts";
import { DuckDbRows } from "../facts/duckdb-rows.ts";
import type { RowSource } from "../facts/row-source.ts";

export interface OpenFacts extends AsyncDisposable {
  readonly facts: FactStore;
  readonly rows: RowSource;
  readonly store: BlobStore;
  /** The same store for a process that dies at its n-th call, before or after the store has done it. */
  readonly dying: (n: number, when: "before" | "after") => FactStore;
}

/** Maximum number of calls to its store of a lane that begins and commits. */
export const CALLS_OF_LANE = 20;

/** Opens an empty folder for commits. */
export async function openFacts(): Promise<OpenFacts> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await createTempDir("facts"));
  const dir = join(folder.path, "analytics");
  const store = createFileStore(dir);
  const rows = stack.use(new DuckDbRows({ store, files: localFiles(dir), partRows: 2 }));
  const opened = stack.move();
  return {
    facts: createFactStore(store),
    rows,
    store,
    dying: (n, when) => createFactStore(createFaultyStore(store, dyingAt(n, when))),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
