import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { Database } from "./database.ts";
import { type Column, createParquetEncoder } from "./parquet-encoder.ts";
import { escapeGlob } from "./searchable-files.ts";

interface Row {
  readonly name: string;
  readonly count: number | null;
  readonly atUs: number;
  readonly isOpen: boolean;
}

const COLUMNS: readonly Column<Row>[] = [
  { name: "name", type: "text", valueOf: ({ name }) => name },
  { name: "count", type: "integer", isNullable: true, valueOf: ({ count }) => count },
  { name: "at", type: "time", valueOf: ({ atUs }) => atUs },
  { name: "is_open", type: "boolean", valueOf: ({ isOpen }) => isOpen },
];

const ROWS: readonly Row[] = [
  { name: "ä", count: null, atUs: 1_763_900_000_000_001, isOpen: true },
  { name: "", count: Number.MAX_SAFE_INTEGER, atUs: 0, isOpen: false },
  { name: "z".repeat(10_000), count: 0, atUs: 1, isOpen: false },
];

async function encode(...groups: (readonly Row[])[]): Promise<Buffer> {
  const encoder = createParquetEncoder("row", COLUMNS);
  const pieces: Uint8Array[] = [];
  for (const group of groups) pieces.push(await encoder.encode(group));
  return Buffer.concat([...pieces, await encoder.finish()]);
}

test("DuckDB reads the rows that were encoded, in several groups, from a path with wildcards", async () => {
  await using dir = await createTempDir();
  await using database = new Database();
  const path = join(dir.path, "a[1]*.parquet");
  await writeFile(path, await encode(ROWS.slice(0, 1), [], ROWS.slice(1)));
  const found = await database.query(async (connection) => {
    const sql = 'select name, count, epoch_us("at") as "atUs", is_open as "isOpen" from read_parquet($1)';
    return (await connection.runAndReadAll(sql, [escapeGlob(path)])).getRowObjectsJS();
  });
  const expected = ROWS.map(({ count, atUs, ...row }) => {
    return { ...row, count: count === null ? null : BigInt(count), atUs: BigInt(atUs) };
  });
  expect(found).toEqual(expected);
});

test("a table without rows is a file too, and equal rows are equal bytes", async () => {
  await using dir = await createTempDir();
  await using database = new Database();
  const path = join(dir.path, "empty.parquet");
  await writeFile(path, await encode());
  const found = await database.query(async (connection) =>
    (await connection.runAndReadAll("select * from read_parquet($1)", [path])).getRowObjectsJS(),
  );
  expect(found).toEqual([]);
  expect(await encode(ROWS)).toEqual(await encode(ROWS));
});

test("a query can neither change the limits nor install code", async () => {
  await using database = new Database();
  const run = (sql: string) => database.query((connection) => connection.run(sql));
  await expect(run("set memory_limit = '8GB'")).rejects.toThrow(/configuration has been locked/);
  await expect(run("install httpfs")).rejects.toThrow();
});

test("a query that is not wanted any more is interrupted, and is not begun where it has not had its turn", async () => {
  await using database = new Database({ mostQueries: 1 });
  const gone = new AbortController();
  const begun = Promise.withResolvers<void>();
  const endless =
    "select count(*) from range(1000000) a, range(1000000) b, range(1000000) c where a.range + b.range = c.range";
  const running = database.query((connection) => {
    const counted = connection.run(endless);
    begun.resolve();
    return counted;
  }, gone.signal);
  const waiting = database.query(() => Promise.reject(new Error("begun")), gone.signal);
  await begun.promise;
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  await expect(running).rejects.toThrow(/INTERRUPT/);
});
