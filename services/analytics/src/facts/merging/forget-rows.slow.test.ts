import { GENERATIONS } from "../fact-tables.ts";
import { join } from "node:path";
import { type BlobStore, createFileStore } from "@reprise/archive";
import { createFaultyStore, dyingAt } from "@reprise/archive/testing";
import { GenerationFold, type GenerationRow } from "@reprise/facts";
import {
  asSeq,
  asStreamSeq,
  encodeEvent,
  type GenerationRef,
  generationsStream,
  logSubject,
} from "@reprise/protocol";
import { localFiles, readParquetRows } from "@reprise/facts/tables";
import { completed, createRef, createTempDir, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { decodeBase, COMMITS_PER_BASE, decodeCommit, parseCommitKey } from "../parquet-commit.ts";
import { createFactStore } from "../fact-store.ts";
import { ObjectLaneFacts } from "../commit-facts.ts";
import { DuckDbRows } from "../duckdb-rows.ts";
import { CommitTidier } from "./tidy-commits.ts";

const STREAM = generationsStream(0);
const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
const SECOND_US = 1_000_000;
const SECRET = "Ada Lovelace";

/** Commits of one stream; each generation begins in one, and has its row three later. */
async function openWorld(commits: number) {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await createTempDir("forget"));
  const dir = join(path, "rows");
  const store = createFileStore(dir);
  const rows = stack.use(new DuckDbRows({ store, files: localFiles(dir) }));
  const facts = new ObjectLaneFacts(store, GENERATIONS, STREAM);
  await facts.last();
  const folds = new Map<string, GenerationFold>();
  const refs: GenerationRef[] = [];
  const expected: GenerationRow[] = [];
  for (let n = 0; n < commits; n++) {
    const atUs = NOON_US + n * SECOND_US;
    const ref = createRef();
    refs.push(ref);
    const fold = GenerationFold.begin(ref);
    const request = requested(ref, { metadata: { person: `${SECRET} ${n}` } });
    for (const [seq, draft] of [request, started(), delta("a")].entries())
      fold.feed(encodeEvent(asSeq(seq), draft), atUs, ["person"]);
    folds.set(logSubject(ref), fold);
    const [ended] = n >= 3 ? refs.slice(n - 3) : [];
    const subject = ended && logSubject(ended);
    const ending = subject === undefined ? undefined : folds.get(subject);
    ending?.feed(encodeEvent(asSeq(3), completed()), atUs);
    if (subject !== undefined) folds.delete(subject);
    const ending_rows = ending ? [ending.toRow()] : [];
    expected.push(...ending_rows);
    const place = asStreamSeq(n + 1);
    const lane = {
      stream: STREAM,
      epoch: 0,
      created: "c",
      last: place,
      last_seq_stored: place,
      last_at: atUs,
    };
    const changed = [[logSubject(ref), fold.encode()]] as const;
    const closed = subject === undefined ? [] : [subject];
    const all = () => [...folds].map(([name, one]) => [name, one.encode()] as const);
    await facts.commit({ lane, rows: ending_rows, changed, closed }, all);
  }
  const kept = stack.move();
  return { store, rows, refs, expected, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Everything that the objects of a store say, in clear, by key. */
async function readAll(store: BlobStore): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for await (const { key } of store.list("")) {
    const bytes = (await store.get(key))!;
    const parts: unknown[] = [];
    if (key.endsWith(".parquet")) parts.push((await readParquetRows(bytes)).map(GENERATIONS.toRow));
    if (parseCommitKey(key)) parts.push(decodeCommit(bytes, key));
    if (key.startsWith("bases/")) parts.push(decodeBase(bytes, key));
    texts.set(key, JSON.stringify(parts));
  }
  return texts;
}

async function keysWith(store: BlobStore, n: number): Promise<string[]> {
  const texts = await readAll(store);
  return [...texts].filter(([, text]) => text.includes(`"${SECRET} ${n}"`)).map(([key]) => key);
}

class Collected {
  readonly rows: GenerationRow[] = [];
  add(row: GenerationRow): void {
    this.rows.push(row);
  }
}

async function readRows(rows: DuckDbRows): Promise<GenerationRow[]> {
  const query = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
  const { rows: found } = await rows.read(query, () => new Collected());
  return found.toSorted((a, b) => a.ended_us - b.ended_us);
}

/** Two in merged files, one of them across the border of two, and two in commits after them that have folds of each other's. */
const FORGOTTEN = [10, COMMITS_PER_BASE - 2, 2 * COMMITS_PER_BASE, 2 * COMMITS_PER_BASE + 1];

function expectForgotten(found: readonly GenerationRow[], expected: readonly GenerationRow[]): void {
  expect(found).toEqual(expected.map((row, n) => (FORGOTTEN.includes(n) ? { ...row, metadata: {} } : row)));
}

test("what a client wrote of a forgotten generation is in no object any more, and all else is as it was", async () => {
  await using world = await openWorld(2 * COMMITS_PER_BASE + 10);
  await new CommitTidier({ table: GENERATIONS, store: world.store, stream: STREAM }).tidy({
    expiredBeforeUs: undefined,
  });
  const facts = createFactStore(world.store);
  const refs = FORGOTTEN.map((n) => world.refs[n]!);
  for (const n of FORGOTTEN) expect((await keysWith(world.store, n)).length).toBeGreaterThan(1);
  expect(await facts.forget(STREAM, refs, world.rows)).toBe(FORGOTTEN.length);
  for (const n of FORGOTTEN) expect(await keysWith(world.store, n)).toEqual([]);
  expect(await keysWith(world.store, 11)).not.toEqual([]);
  expectForgotten(await readRows(world.rows), world.expected);
  expect(await facts.forget(STREAM, refs, world.rows)).toBe(0);
  // A lane continues with the open folds.
  const lane = new ObjectLaneFacts(world.store, GENERATIONS, STREAM);
  const last = await lane.last();
  const folds = await lane.restore({ epoch: 0, created: "c", after: last!.last, sinceUs: 0 });
  expect([...folds.keys()]).toEqual(world.refs.slice(-3).map(logSubject));
});

test.each(["before", "after"] as const)(
  "a process that dies at any call while it forgets, %s it has happened, loses no row and leaves the rest to the next",
  async (when) => {
    await using world = await openWorld(2 * COMMITS_PER_BASE + 10);
    await new CommitTidier({ table: GENERATIONS, store: world.store, stream: STREAM }).tidy({
      expiredBeforeUs: undefined,
    });
    const refs = FORGOTTEN.map((n) => world.refs[n]!);
    for (let call = 0; call < 50; call += 3) {
      const facts = createFactStore(createFaultyStore(world.store, dyingAt(call, when)));
      await facts
        .forget(STREAM, refs, world.rows)
        .catch((error: unknown) => expect(error).toMatchObject({ code: "archive_unavailable" }));
      const found = await readRows(world.rows);
      expect(found.map((row) => ({ ...row, metadata: {} }))).toEqual(
        world.expected.map((row) => ({ ...row, metadata: {} })),
      );
    }
    await createFactStore(world.store).forget(STREAM, refs, world.rows);
    expectForgotten(await readRows(world.rows), world.expected);
    const left = (await Promise.all(FORGOTTEN.map((n) => keysWith(world.store, n)))).flat();
    // What a version had that no longer counts is deleted with the next round of tidying.
    expect(left.filter((key) => !key.startsWith("merged/"))).toEqual([]);
    let now = 0;
    const tidier = new CommitTidier({
      table: GENERATIONS,
      store: world.store,
      stream: STREAM,
      now: () => (now += 3_600_000),
    });
    for (let round = 0; round < 2; round++) await tidier.tidy({ expiredBeforeUs: undefined });
    for (const n of FORGOTTEN) expect(await keysWith(world.store, n)).toEqual([]);
  },
);
