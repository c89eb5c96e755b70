import type { BlobStore } from "@reprise/archive";
import { createMemoryStore } from "@reprise/archive/testing";
import { generationsStream, type StreamSeq } from "@reprise/protocol";
import { createTempDir, createRef } from "@reprise/testkit";
import { openFetchedFiles } from "@reprise/facts/tables";
import { expect, test } from "vitest";
import { generationRowOf } from "../../testing/generation-row.ts";
import { commitKeyOf, COMMITS_PER_BASE } from "../parquet-commit.ts";
import { CommitTidier } from "../merging/tidy-commits.ts";
import { ObjectLaneFacts } from "../commit-facts.ts";
import { DuckDbRows } from "../duckdb-rows.ts";
import { GENERATIONS } from "../fact-tables.ts";
import { KeptListing } from "./kept-listing.ts";

const STREAM = generationsStream(0);
const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
const MINUTE_US = 60_000_000;

/** Says which calls of a store are made, and how many at once at most. */
function countCalls(store: BlobStore) {
  const calls: string[] = [];
  const most = { gets: 0 };
  let gets = 0;
  const counted: BlobStore = {
    async get(key, range) {
      calls.push(`${range ? "part of" : "get"} ${key}`);
      most.gets = Math.max(most.gets, ++gets);
      // Others come meanwhile.
      await new Promise(setImmediate);
      gets--;
      return store.get(key, range);
    },
    list(prefix, after) {
      calls.push(`list ${prefix}`);
      return store.list(prefix, after);
    },
    put: (key, bytes) => store.put(key, bytes),
    create: (key, bytes) => store.create(key, bytes),
    delete: (key) => store.delete(key),
  };
  return { store: counted, most, take: () => calls.splice(0) };
}

/** Commits a row for each minute, one commit for each. */
async function commit(store: BlobStore, minutes: readonly number[]): Promise<void> {
  const lane = new ObjectLaneFacts(store, GENERATIONS, STREAM);
  await lane.last();
  for (const minute of minutes) {
    const atUs = NOON_US + minute * MINUTE_US;
    const last = (minute + 1) as StreamSeq;
    const place = { stream: STREAM, epoch: 0, created: "a", last, last_seq_stored: last, last_at: atUs };
    const rows = [generationRowOf(createRef(), { atUs })];
    expect(await lane.commit({ lane: place, rows, changed: [], closed: [] }, () => [])).toBe("committed");
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const between = (from: number, to: number) => ({
  tenant: undefined,
  fromUs: NOON_US + from * MINUTE_US,
  toUs: NOON_US + to * MINUTE_US,
});

async function openRows(store: BlobStore, fetched: BlobStore) {
  const folder = await createTempDir("kept-listing");
  const files = await openFetchedFiles({ store: fetched, dir: folder.path, maxBytes: 1_000_000_000 });
  const rows = new DuckDbRows({ store, files });
  return {
    async count(query: ReturnType<typeof between>): Promise<number> {
      return (await rows.page({ ...query, limit: 10_000 })).length;
    },
    async [Symbol.asyncDispose]() {
      await rows[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("a question lists nothing that this process has written, and fetches no file of another time", async () => {
  const { store, most, take } = countCalls(createMemoryStore());
  const listing = new KeptListing(store, [STREAM]);
  await using rows = await openRows(listing, store);
  expect(await rows.count(between(0, 10))).toBe(0);
  await commit(listing, range(0, 100));
  take();
  expect(await rows.count(between(40, 45))).toBe(5);
  const first = take();
  expect(first.filter((call) => call.startsWith("list"))).toEqual([]);
  expect(first.filter((call) => call.startsWith("part"))).toHaveLength(100);
  expect(first.filter((call) => call.startsWith("get")).toSorted()).toEqual(
    range(40, 45).map((n) => `get ${commitKeyOf(STREAM, n)}`),
  );
  expect(most.gets).toBeLessThanOrEqual(8);
  await commit(listing, range(100, 101));
  take();
  expect(await rows.count(between(42, 101))).toBe(59);
  const second = take();
  expect(second.filter((call) => call.startsWith("list"))).toEqual([]);
  expect(second.filter((call) => call.startsWith("part"))).toEqual([`part of ${commitKeyOf(STREAM, 100)}`]);
  expect(second.filter((call) => call.startsWith("get"))).toHaveLength(56);
  expect(most.gets).toBeLessThanOrEqual(8);
  expect(await rows.count(between(42, 101))).toBe(59);
  expect(take()).toEqual([]);
});

test("commits of other processes are found after the newest one that is known", async () => {
  const shared = createMemoryStore();
  const { store, take } = countCalls(shared);
  const listing = new KeptListing(store, [STREAM]);
  await using rows = await openRows(listing, store);
  await commit(shared, range(0, 10));
  expect(await rows.count(between(0, 100))).toBe(10);
  await commit(shared, range(10, 13));
  take();
  expect(await rows.count(between(0, 100))).toBe(13);
  expect(take().filter((call) => call.startsWith("list"))).toEqual([
    `list superseded/${STREAM}/`,
    `list merged/${STREAM}/`,
    `list generations/${STREAM}/`,
  ]);
});

test("a commit that is missing is not left out in silence, wherever it stood", async () => {
  for (const n of [0, 5, 9]) {
    const store = createMemoryStore();
    const listing = new KeptListing(store, [STREAM]);
    await commit(store, range(0, 10));
    expect((await listing.files()).get(STREAM)?.commits).toHaveLength(10);
    await store.delete(commitKeyOf(STREAM, n));
    await expect(listing.files({ isWhole: true })).rejects.toMatchObject({ code: "archive_corrupt" });
  }
});

test("tidying has nothing to ask a store where nothing was written", async () => {
  const { store, take } = countCalls(createMemoryStore());
  const listing = new KeptListing(store, [STREAM]);
  await listing.files();
  await commit(listing, range(0, 3 * COMMITS_PER_BASE));
  const tidier = new CommitTidier({ store: listing, table: GENERATIONS, stream: STREAM });
  const options = { expiredBeforeUs: NOON_US - MINUTE_US };
  expect(await tidier.tidy(options)).toBe(2);
  for (const _ of range(0, 3)) await tidier.tidy(options);
  take();
  expect(await tidier.tidy(options)).toBe(0);
  expect(take()).toEqual([]);
});
