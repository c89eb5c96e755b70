import { GENERATIONS } from "../fact-tables.ts";
import type { BlobStore } from "@reprise/archive";
import { createFaultyStore, createMemoryStore, dyingAt } from "@reprise/archive/testing";
import { GenerationFold, type GenerationRow } from "@reprise/facts";
import { asSeq, asStreamSeq, encodeEvent, generationsStream, type StreamSeq } from "@reprise/protocol";
import { readParquetRows } from "@reprise/facts/tables";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { COMMITS_PER_BASE, commitKeyOf } from "../parquet-commit.ts";
import { createFactStore } from "../fact-store.ts";
import { ObjectLaneFacts } from "../commit-facts.ts";
import { decodeMerged, encodeMerged, mergedKey } from "./merged-file.ts";
import { listRowFiles } from "../listing/kept-listing.ts";
import { CommitTidier } from "./tidy-commits.ts";

const STREAM = generationsStream(0);
const CREATED = "2026-11-21T00:00:00Z";
const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
const SECOND_US = 1_000_000;
const NEVER = { expiredBeforeUs: undefined };

const atUs = (n: number) => NOON_US + n * SECOND_US;

function newRow(n: number): GenerationRow {
  const ref = createRef();
  const fold = GenerationFold.begin(ref);
  for (const [seq, draft] of [requested(ref), started(), delta("a"), completed()].entries())
    fold.feed(encodeEvent(asSeq(seq), draft), atUs(n) + seq);
  return fold.toRow();
}

/** A stream's commits: one a second, with a row and a message in each. */
class World {
  readonly store: BlobStore = createMemoryStore();
  /** Those that count. */
  rows: { n: number; row: GenerationRow }[] = [];
  #facts = new ObjectLaneFacts(this.store, GENERATIONS, STREAM);
  #epoch = 0;
  #n = 0;
  #last = 0;

  async commit(count: number): Promise<void> {
    if (this.#n === 0) await this.#facts.last();
    for (let i = 0; i < count; i++) {
      const n = this.#n++;
      const row = newRow(n);
      this.rows.push({ n, row });
      const last = asStreamSeq(++this.#last);
      const lane = {
        stream: STREAM,
        epoch: this.#epoch,
        created: CREATED,
        last,
        last_seq_stored: last,
        last_at: atUs(n),
      };
      const open = [[`open-${n}`, GenerationFold.begin(createRef()).encode()]] as const;
      const outcome = await this.#facts.commit({ lane, rows: [row], changed: [], closed: [] }, () => open);
      expect(outcome).toBe("committed");
    }
  }

  /** Restarts the lane after its stream has lost all messages after a place. @returns the place where it begins again */
  async loseBehind(place: number): Promise<StreamSeq> {
    this.#facts = new ObjectLaneFacts(this.store, GENERATIONS, STREAM);
    await this.#facts.last();
    const places = await Array.fromAsync(this.#facts.all());
    const after = places.find(({ last }) => last <= place)?.last ?? asStreamSeq(0);
    await this.#facts.restore({ epoch: ++this.#epoch, created: CREATED, after, sinceUs: 0 });
    this.#last = after;
    return after;
  }

  /** The rows that a reader of the files finds. */
  async found(): Promise<string[]> {
    const found: string[] = [];
    for (const { key } of await listRowFiles(this.store, "generations")) {
      const bytes = await this.store.get(key);
      if (!bytes) throw new Error(`${key} is listed, and not there.`);
      found.push(...(await readParquetRows(bytes)).map(({ generation }) => String(generation)));
    }
    return found.toSorted();
  }

  expected(): string[] {
    return this.rows.map(({ row }) => row.generation).toSorted();
  }

  async keys(prefix: string): Promise<string[]> {
    return (await Array.fromAsync(this.store.list(prefix))).map(({ key }) => key);
  }
}

/** A tidier for whom all time has passed between two rounds. */
function impatient(store: BlobStore): CommitTidier<GenerationRow> {
  let now = 0;
  return new CommitTidier({ table: GENERATIONS, store, stream: STREAM, now: () => (now += 3_600_000) });
}

test("commits before the newest base become a file of 64, and what continues after them stays", async () => {
  const world = new World();
  await world.commit(3 * COMMITS_PER_BASE + 10);
  const tidier = impatient(world.store);
  expect(await tidier.tidy(NEVER)).toBe(3);
  expect(await listRowFiles(world.store, "generations")).toHaveLength(3 + 10);
  expect(await world.found()).toEqual(world.expected());
  expect(await tidier.tidy(NEVER)).toBe(0);
  // Nothing has expired, so a lane can continue after any commit.
  expect(await world.keys("generations/")).toHaveLength(3 * COMMITS_PER_BASE + 10);
  expect(await world.loseBehind(70)).toBe(70);
});

test("commits of which nothing is in the stream any more are deleted with their bases, and a lane continues", async () => {
  const world = new World();
  await world.commit(3 * COMMITS_PER_BASE + 10);
  const tidier = impatient(world.store);
  const expired = { expiredBeforeUs: atUs(2 * COMMITS_PER_BASE + 5) };
  for (let round = 0; round < 3; round++) await tidier.tidy(expired);
  const [first] = await world.keys("generations/");
  expect(first).toBe(commitKeyOf(STREAM, 2 * COMMITS_PER_BASE));
  expect((await world.keys("bases/")).map((key) => Number(/(\d+)-/.exec(key)?.[1]))).toEqual([128, 192]);
  expect(await world.found()).toEqual(world.expected());

  const facts = new ObjectLaneFacts(world.store, GENERATIONS, STREAM);
  const last = await facts.last();
  const folds = await facts.restore({ epoch: 0, created: CREATED, after: last!.last, sinceUs: 0 });
  expect([...folds.keys()]).toEqual(["open-192"]);
  await world.commit(5);
  expect(await world.found()).toEqual(world.expected());
});

test("files whose commits are deleted become one", async () => {
  const world = new World();
  const tidier = impatient(world.store);
  for (let first = 0; first < COMMITS_PER_BASE ** 2; first += COMMITS_PER_BASE) {
    const row = newRow(first);
    const last = first + COMMITS_PER_BASE - 1;
    const key = mergedKey({ stream: STREAM, first, last, superseded: 0, version: 0 });
    await world.store.put(key, await encodeMerged(GENERATIONS, new Map([[first, [row]]])));
    world.rows.push({ n: first, row });
  }
  // Commits of the block before are still there.
  await world.store.put(commitKeyOf(STREAM, COMMITS_PER_BASE ** 2 - 1), new Uint8Array());
  expect(await tidier.tidy(NEVER)).toBe(0);
  await world.store.delete(commitKeyOf(STREAM, COMMITS_PER_BASE ** 2 - 1));
  await world.store.put(commitKeyOf(STREAM, COMMITS_PER_BASE ** 2), new Uint8Array());
  expect(await tidier.tidy(NEVER)).toBe(1);
  await tidier.tidy(NEVER);
  const [merged, ...others] = await world.keys("merged/");
  expect(others).toEqual([]);
  const rows = await decodeMerged(GENERATIONS, (await world.store.get(merged!))!, merged!);
  expect([...rows.values()].flat()).toEqual(world.rows.map(({ row }) => row));
  expect((await listRowFiles(world.store, "generations")).map(({ key }) => key)).toEqual([
    merged,
    commitKeyOf(STREAM, COMMITS_PER_BASE ** 2),
  ]);
});

test("between any two steps of a tidier, and when it dies there, each row is found once", async () => {
  for (const when of ["before", "after"] as const) {
    const world = new World();
    await world.commit(2 * COMMITS_PER_BASE + 3);
    const expired = { expiredBeforeUs: atUs(COMMITS_PER_BASE) };
    const watched: BlobStore = {
      ...world.store,
      get: (key, range) => world.store.get(key, range),
      list: (prefix) => world.store.list(prefix),
      put: (key, bytes) => world.store.put(key, bytes),
      async create(key, bytes) {
        const outcome = await world.store.create(key, bytes);
        expect(await world.found()).toEqual(world.expected());
        return outcome;
      },
      async delete(key) {
        await world.store.delete(key);
        expect(await world.found()).toEqual(world.expected());
      },
    };
    // Some of 500 calls: three rounds have no more.
    for (let call = 0; call < 500; call += 11) {
      const tidier = impatient(createFaultyStore(watched, dyingAt(call, when)));
      const tidyAll = async () => {
        for (let round = 0; round < 3; round++) await tidier.tidy(expired);
      };
      await tidyAll().catch((error: unknown) => expect(error).toMatchObject({ code: "archive_unavailable" }));
      expect(await world.found()).toEqual(world.expected());
    }
    expect(await world.keys("generations/")).toHaveLength(COMMITS_PER_BASE + 3);
  }
});

test("rows of a lost end leave a merged file, and a file that was merged without knowing of that does not count", async () => {
  const world = new World();
  await world.commit(2 * COMMITS_PER_BASE + 3);
  await impatient(world.store).tidy(NEVER);
  const [, stale] = await world.keys("merged/");
  const bytes = await world.store.get(stale!);
  expect(await world.loseBehind(80)).toBe(80);
  world.rows = world.rows.filter(({ n }) => n < 80);
  expect(await world.found()).toEqual(world.expected());
  await world.commit(2 * COMMITS_PER_BASE);
  const tidier = impatient(world.store);
  for (let round = 0; round < 2; round++) await tidier.tidy(NEVER);
  expect(await world.keys("merged/")).not.toContain(stale);
  // A process that has stood still since before.
  await world.store.put(stale!, bytes!);
  expect(await world.found()).toEqual(world.expected());
});

test("a stream that has lost all that it had takes no row back whose commit is deleted", async () => {
  const world = new World();
  await world.commit(3 * COMMITS_PER_BASE + 10);
  const tidier = impatient(world.store);
  for (let round = 0; round < 3; round++) await tidier.tidy({ expiredBeforeUs: atUs(COMMITS_PER_BASE) });
  // As if it had died while it deleted the second block.
  await world.store.delete(commitKeyOf(STREAM, COMMITS_PER_BASE));
  expect(await world.loseBehind(0)).toBe(0);
  world.rows = world.rows.filter(({ n }) => n < 2 * COMMITS_PER_BASE);
  expect(await world.found()).toEqual(world.expected());
  await world.commit(COMMITS_PER_BASE);
  expect(await world.found()).toEqual(world.expected());
});

test("a sink that is far behind gets the rows of each deleted commit, under their numbers", async () => {
  const world = new World();
  await world.commit(2 * COMMITS_PER_BASE + 3);
  const tidier = impatient(world.store);
  for (let round = 0; round < 3; round++) await tidier.tidy({ expiredBeforeUs: atUs(2 * COMMITS_PER_BASE) });
  expect(await world.store.get(commitKeyOf(STREAM, 0))).toBeUndefined();
  const outbox = createFactStore(world.store).outbox("test", STREAM);
  for (const { n, row } of world.rows) expect(await outbox.rowsOf(n)).toEqual([row]);
  expect(await outbox.rowsOf(world.rows.length)).toBeUndefined();
});
