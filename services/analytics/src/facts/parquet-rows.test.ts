import { createFileStore } from "@reprise/archive";
import { GenerationFold, type GenerationRow } from "@reprise/metering";
import { generationsStream, STREAM_START } from "@reprise/protocol";
import { localFiles } from "@reprise/tables";
import { createRef, createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { generationRowOf } from "../testing/generation-row.ts";
import { CommitTidier } from "./merging/tidy-commits.ts";
import { commitKeyOf, COMMITS_PER_BASE } from "./commit.ts";
import { ObjectLaneFacts } from "./object-lane-facts.ts";
import { ParquetRows } from "./parquet-rows.ts";
import { listingOf } from "./row-files.ts";
import type { FactTable } from "./tables/fact-table.ts";
import { GENERATIONS } from "./tables/generations-table.ts";

const STREAM = generationsStream(0);
const CREATED = "2026-11-21T00:00:00Z";
const NOON_US = Date.parse("2026-11-21T12:00:00Z") * 1_000;
const LATER_US = NOON_US + 86_400_000_000;

const NEWER = new Set<string>(["engine", "first_tokens"]);

/** As it was before rows had an engine, and tokens of the first output. */
const OLDER: FactTable<GenerationRow> = {
  ...GENERATIONS,
  fields: GENERATIONS.fields.filter(({ name }) => !NEWER.has(name)),
  columns: GENERATIONS.columns.filter(({ name }) => !NEWER.has(name)),
};

class Found {
  readonly newer: string[] = [];
  add({ engine, first_tokens: tokens }: GenerationRow): void {
    this.newer.push(`${engine} ${tokens}`);
  }
}

test("rows that an older version has written are read beside those of this one, one by one and merged", async () => {
  await using folder = await createTempDir("older-rows");
  const store = createFileStore(folder.path);
  await using source = new ParquetRows({ store, files: localFiles(folder.path) });
  const commit = async (table: FactTable<GenerationRow>, atUs: number) => {
    const facts = new ObjectLaneFacts(store, table, STREAM);
    await facts.last();
    const position = { stream: STREAM, epoch: 1, created: CREATED, last_at: atUs };
    const lane = { ...position, last: STREAM_START, last_seq_stored: STREAM_START };
    const rows = [{ ...generationRowOf(createRef(), { atUs }), engine: "sim" }];
    expect(await facts.commit({ lane, rows, changed: [], closed: [] }, () => [])).toBe("committed");
  };
  const newer = async () => {
    const query = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
    return (await source.read(query, () => new Found())).newer.toSorted();
  };
  for (const table of [OLDER, OLDER, GENERATIONS]) await commit(table, NOON_US);
  expect(await newer()).toEqual(["null null", "null null", "sim 1"]);
  for (const table of Array.from({ length: COMMITS_PER_BASE }, () => GENERATIONS))
    await commit(table, LATER_US);
  const tidier = new CommitTidier({ store, table: GENERATIONS, stream: STREAM });
  await tidier.tidy({ expiredBeforeUs: undefined });
  expect((await listingOf(store).stream(STREAM)).files()).toMatchObject({ merged: [{ first: 0 }] });
  const found = await newer();
  expect(found).toHaveLength(3 + COMMITS_PER_BASE);
  expect(found.filter((one) => one === "null null")).toHaveLength(2);
});

test("a fold of a version that knew no engines goes on", () => {
  const { state, ...rest } = GenerationFold.begin(createRef()).encode();
  const { engine: _, ...older } = state;
  const fold = GenerationFold.decode({ ...rest, state: older });
  expect(fold.encode().state.engine).toBeNull();
});

test("a file that can't be read in its middle makes a reading fail, and none come short", async () => {
  await using folder = await createTempDir("damaged-rows");
  const store = createFileStore(folder.path);
  await using source = new ParquetRows({ store, files: localFiles(folder.path) });
  const facts = new ObjectLaneFacts(store, GENERATIONS, STREAM);
  await facts.last();
  const position = { stream: STREAM, epoch: 1, created: CREATED, last_at: NOON_US };
  const lane = { ...position, last: STREAM_START, last_seq_stored: STREAM_START };
  for (const n of Array.from({ length: 40 }, (_, i) => i)) {
    const rows = Array.from({ length: 250 }, () => generationRowOf(createRef(), { atUs: NOON_US + n }));
    await facts.commit({ lane, rows, changed: [], closed: [] }, () => []);
  }
  const key = commitKeyOf(STREAM, 39);
  const bytes = Buffer.from((await store.get(key)) ?? []);
  // Pages of columns that no condition reads: the statement has begun to answer when it meets them.
  await store.put(key, bytes.fill(0, Math.round(0.54 * bytes.length), Math.round(0.6 * bytes.length)));
  const query = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
  for (const _ of [1, 2, 3, 4, 5])
    await expect(source.read(query, () => new Found())).rejects.toMatchObject({
      code: "archive_unavailable",
    });
});

test("a reading in parts has each row once", async () => {
  await using folder = await createTempDir("parts");
  const store = createFileStore(folder.path);
  await using source = new ParquetRows({ store, files: localFiles(folder.path), partRows: 2 });
  const facts = new ObjectLaneFacts(store, GENERATIONS, STREAM);
  await facts.last();
  const position = { stream: STREAM, epoch: 1, created: CREATED, last_at: NOON_US };
  const lane = { ...position, last: STREAM_START, last_seq_stored: STREAM_START };
  // Three in one minute, then none for a while, then one in each of five, the last one at the question's end.
  const minutes = [0, 0, 0, 7, 8, 9, 10, 11];
  const rows = minutes.map((minute) => generationRowOf(createRef(), { atUs: NOON_US + minute * 60_000_000 }));
  await facts.commit({ lane, rows, changed: [], closed: [] }, () => []);
  const ids: string[] = [];
  const query = { tenant: undefined, fromUs: NOON_US, toUs: NOON_US + 12 * 60_000_000 };
  await source.read(query, () => ({ add: ({ generation }: GenerationRow) => void ids.push(generation) }));
  expect(ids.toSorted()).toEqual(rows.map(({ generation }) => generation).toSorted());
});
