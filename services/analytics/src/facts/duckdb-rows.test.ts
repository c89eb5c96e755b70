import { createFileStore } from "@reprise/archive";
import { attemptRow, type DeliveredRow, GenerationFold, type GenerationRow } from "@reprise/facts";
import { type GenerationRef, generationsStream, OPS_STREAM, STREAM_START } from "@reprise/protocol";
import { localFiles } from "@reprise/facts/tables";
import { createRef, createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { generationRowOf } from "../testing/generation-row.ts";
import { CommitTidier } from "./merging/tidy-commits.ts";
import { commitKeyOf, COMMITS_PER_BASE } from "./parquet-commit.ts";
import { ObjectLaneFacts } from "./commit-facts.ts";
import { DuckDbRows } from "./duckdb-rows.ts";
import { listingOf } from "./listing/kept-listing.ts";
import { type FactTable, DELIVERIES, GENERATIONS } from "./fact-tables.ts";

const STREAM = generationsStream(0);
const CREATED = "2026-11-21T00:00:00Z";
const NOON_US = Date.parse("2026-11-21T12:00:00Z") * 1_000;
const LATER_US = NOON_US + 86_400_000_000;

const NEWER = new Set<string>(["engine", "first_tokens", "estimated_input_tokens"]);

/** The table before rows had an engine and tokens of the first output. */
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
  await using source = new DuckDbRows({ store, files: localFiles(folder.path) });
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

test("a fold of a version that knew no engines continues", () => {
  const { state, ...rest } = GenerationFold.begin(createRef()).encode();
  const { engine: _, ...older } = state;
  const fold = GenerationFold.decode({ ...rest, state: older });
  expect(fold.encode().state.engine).toBeNull();
});

test("a file that can't be read in its middle makes a reading fail, and none come short", async () => {
  await using folder = await createTempDir("damaged-rows");
  const store = createFileStore(folder.path);
  await using source = new DuckDbRows({ store, files: localFiles(folder.path) });
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

/** Three in one minute, then none for a while, then one in each of five, the last one at the question's end. */
const MINUTES = [0, 0, 0, 7, 8, 9, 10, 11];
const HOUR = { tenant: undefined, fromUs: NOON_US, toUs: NOON_US + 12 * 60_000_000 };

async function openParts() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await createTempDir("parts"));
  const store = createFileStore(folder.path);
  const source = stack.use(new DuckDbRows({ store, files: localFiles(folder.path), partRows: 2 }));
  const position = { epoch: 1, created: CREATED, last_at: NOON_US };
  const lane = { ...position, last: STREAM_START, last_seq_stored: STREAM_START };
  const rows = MINUTES.map((minute) => generationRowOf(createRef(), { atUs: NOON_US + minute * 60_000_000 }));
  const facts = new ObjectLaneFacts(store, GENERATIONS, STREAM);
  await facts.last();
  // In two files.
  for (const some of [rows.filter((_, i) => i % 2 === 0), rows.filter((_, i) => i % 2 === 1)])
    await facts.commit({ lane: { stream: STREAM, ...lane }, rows: some, changed: [], closed: [] }, () => []);
  const owned = stack.move();
  return { store, source, rows, lane, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test("a reading in parts has what was recorded of each generation's deliveries, days later too", async () => {
  await using world = await openParts();
  const facts = new ObjectLaneFacts(world.store, DELIVERIES, OPS_STREAM);
  await facts.last();
  const lane = { stream: OPS_STREAM, ...world.lane };
  const attempts = world.rows.map(({ tenant, generation, ended_us: endedUs }, i) => {
    const place = { tenant, generation, storedAtUs: endedUs + i * 80_000_000_000 } as GenerationRef & {
      storedAtUs: number;
    };
    const at = new Date(endedUs / 1_000).toISOString();
    return attemptRow(place, {
      kind: "attempt",
      at,
      attempt: 1,
      model: "sim",
      engine_first_ms: i,
      append_ms: 1,
    });
  });
  for (const row of attempts) await facts.commit({ lane, rows: [row], changed: [], closed: [] }, () => []);
  const found = new Map<string, number | undefined>();
  const add = ({ generation, delivery }: DeliveredRow) =>
    void found.set(generation, delivery?.engine_first_us ?? undefined);
  await world.source.read({ ...HOUR, withDelivery: true }, () => ({ add }));
  expect(found).toEqual(new Map(world.rows.map(({ generation }, i) => [generation, i * 1_000])));
});

test("a query with more rows than it may have is refused before any is read", async () => {
  await using world = await openParts();
  const read: string[] = [];
  const create = () => ({ add: ({ generation }: GenerationRow) => void read.push(generation) });
  await expect(world.source.read({ ...HOUR, mostRows: 7 }, create)).rejects.toMatchObject({
    code: "invalid_request",
    param: "from",
    message: expect.stringContaining("8 generations ended in this time, and 7 are the limit"),
  });
  expect(read).toEqual([]);
  await world.source.read({ ...HOUR, mostRows: 8 }, create);
  expect(read).toHaveLength(8);
});

test("a reading that is not wanted any more ends, and reads no further part", async () => {
  await using world = await openParts();
  const gone = new AbortController();
  let read = 0;
  const add = () => {
    read++;
    gone.abort(new Error("gone"));
  };
  await expect(world.source.read({ ...HOUR, signal: gone.signal }, () => ({ add }))).rejects.toThrow("gone");
  expect(read).toBeLessThanOrEqual(3);
});
