import { setImmediate as turn } from "node:timers/promises";
import { zstdDecompressSync } from "node:zlib";
import { TimeSlices } from "@reprise/async";
import { createRef } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { generationRowOf } from "../testing/generation-row.ts";
import { encodeBase, commitKeyOf, decodeCommit, encodeCommit, encodeGroups } from "./parquet-commit.ts";
import { GENERATIONS } from "./fact-tables.ts";

const STREAM = "GENERATIONS_0";

afterEach(() => vi.restoreAllMocks());

/** Counts the turns of the event loop during the work. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const counting = (async () => {
    for (; !isDone; turns++) await turn();
  })();
  await work().finally(() => (isDone = true));
  await counting;
  return turns;
}

const foldsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => [`subject ${i}`, { text: "x".repeat(100) }] as const);

test("folds are the JSON of their array, in as many slices as they need", async () => {
  vi.spyOn(TimeSlices.prototype, "isOver").mockReturnValue(true);
  for (const count of [0, 1, 2_000]) {
    const folds = foldsOf(count);
    let bytes: Uint8Array = new Uint8Array();
    const turns = await countTurns(async () => (bytes = await encodeBase(folds)));
    expect(zstdDecompressSync(bytes).toString()).toBe(JSON.stringify(folds));
    expect(turns).toBeGreaterThanOrEqual(count);
  }
});

test("what is compressed holds up no turn", async () => {
  vi.spyOn(TimeSlices.prototype, "isOver").mockReturnValue(false);
  // Work without a turn of its own ends before the first one that is counted.
  const turns = await countTurns(() => encodeBase(foldsOf(20_000)));
  expect(turns).toBeGreaterThan(1);
});

test("each row group is encoded in a turn of its own", async () => {
  const groups: number[][] = [];
  const encoder = {
    encode: async (rows: readonly number[]) => Uint8Array.of(groups.push([...rows])),
    finish: async () => new Uint8Array(),
  };
  const turns = await countTurns(() => encodeGroups(encoder, [1, 2, 3, 4, 5, 6, 7], 2));
  expect(groups).toEqual([[1, 2], [3, 4], [5, 6], [7]]);
  expect(turns).toBeGreaterThanOrEqual(3);
});

test("a commit's folds are encoded in slices and its rows in turns, and come back as they were", async () => {
  const rows = Array.from({ length: 5_000 }, () => generationRowOf(createRef()));
  const lane = { stream: STREAM, epoch: 0, created: "c", last_at: 0, last: 0, last_seq_stored: 0 } as never;
  const commit = { n: 0, base: undefined, lane, changed: foldsOf(3), closed: ["a"] };
  vi.spyOn(TimeSlices.prototype, "isOver").mockReturnValue(true);
  let bytes: Uint8Array = new Uint8Array();
  const turns = await countTurns(async () => (bytes = await encodeCommit(GENERATIONS, commit, rows)));
  expect(turns).toBeGreaterThanOrEqual(3 + 4);
  expect(decodeCommit(bytes, commitKeyOf(STREAM, 0))).toEqual({ ...commit, base: undefined });
});
