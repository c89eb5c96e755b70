import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { encodeEvent, asSeq } from "@reprise/protocol";
import { completed, createRef, createTempDir, delta, redacted, requested, started } from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { ArchiveSearch } from "../search/archive-search.ts";
import { localFiles } from "@reprise/facts/tables";
import { type FilledArchive, openFilledArchive } from "../testing/filled-archive.ts";
import { type ExportFormat, writeExport } from "./export-file.ts";
import { exportGenerations } from "./export-generations.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;

async function exportTo(filled: FilledArchive, path: string, format: ExportFormat, original = false) {
  const { archive, keyring, reader, dir } = filled;
  await using search = new ArchiveSearch({ archive, keyring, files: localFiles(dir) });
  const query = { tenant: createRef().tenant, limit: 2 };
  return await writeExport(path, format, (file) =>
    exportGenerations({ reader, search, query, original }, file),
  );
}

describe("an export", () => {
  it("has each event that is shown, generation by generation, as NDJSON and as Parquet alike", async () => {
    await using filled = await openFilledArchive();
    await using dir = await createTempDir("export");
    const refs = [createRef(), createRef(), createRef()];
    for (const [i, ref] of refs.entries())
      filled.log(ref, [requested(ref), started(), delta("a 'b\n"), redacted(2, 2), completed()], NOON_US + i);
    filled.log(createRef("other"), [started()], NOON_US);
    await filled.commit();
    const [ndjson, parquet] = [join(dir.path, "a.ndjson"), join(dir.path, "a.parquet")];
    const outcome = { generations: 3, events: 12, erased: [], incomplete: [] };
    expect(await exportTo(filled, ndjson, "ndjson")).toEqual(outcome);
    expect(await exportTo(filled, parquet, "parquet")).toEqual(outcome);
    const lines = (await readFile(ndjson, "utf8")).split("\n").slice(0, -1);
    const rows = lines.map((line) => JSON.parse(line) as { generation: string; seq: number; event: unknown });
    const newestFirst = refs
      .toReversed()
      .flatMap(({ generation }) => [1, 2, 3, 4].map((seq) => [generation, seq]));
    expect(rows.map(({ generation, seq }) => [generation, seq])).toEqual(newestFirst);
    expect(rows[1]).toEqual({
      tenant: "acme",
      generation: refs[2]!.generation,
      seq: 2,
      at: "2026-11-21T12:00:00.002002Z",
      event: { seq: 2, type: "output.delta", text: "[redacted]", redacted: true },
    });
    const database = await DuckDBInstance.create();
    const connection = await database.connect();
    const columns = `tenant, generation, seq::int as seq, strftime("at", '%Y-%m-%dT%H:%M:%S.%fZ') as "at", event`;
    const found = await connection.runAndReadAll(`select ${columns} from '${parquet}'`);
    expect(
      found
        .getRowObjectsJS()
        .map((row) => ({ ...row, event: JSON.parse(row["event"] as string) as unknown })),
    ).toEqual(rows);
    database.closeSync();
  });

  it("has what was generated, and the request, where that is asked for", async () => {
    await using filled = await openFilledArchive();
    await using dir = await createTempDir("export");
    const ref = createRef();
    filled.log(ref, [requested(ref), started(), delta("a"), redacted(2, 2)], NOON_US);
    await filled.commit();
    const path = join(dir.path, "a.ndjson");
    await exportTo(filled, path, "ndjson", true);
    const text = await readFile(path, "utf8");
    expect(text.split("\n")).toHaveLength(5);
    expect(text).toContain(Buffer.from(encodeEvent(asSeq(2), delta("a"))).toString());
  });

  it("names the generations of which events are missing, and has nothing of them", async () => {
    await using filled = await openFilledArchive();
    await using dir = await createTempDir("export");
    const [whole, holed] = [createRef(), createRef()];
    filled.log(whole, [requested(whole), started()], NOON_US);
    filled.event(holed, 0, requested(holed), NOON_US);
    filled.event(holed, 2, delta("b"), NOON_US);
    await filled.commit();
    const path = join(dir.path, "a.ndjson");
    expect(await exportTo(filled, path, "ndjson")).toMatchObject({
      generations: 1,
      incomplete: [holed.generation],
    });
    expect(await readFile(path, "utf8")).not.toContain(holed.generation);
  });

  it("is a file that only its user may read, is there when it is whole, and replaces no other", async () => {
    await using dir = await createTempDir("export");
    const path = join(dir.path, "a.ndjson");
    const failed = writeExport(path, "ndjson", async (file) => {
      await file.write({ tenant: "t", generation: "g", seq: asSeq(1), atUs: 0, event: "{}" });
      throw new Error("broke off");
    });
    await expect(failed).rejects.toThrow("broke off");
    expect(await readdir(dir.path)).toEqual([]);
    await writeExport(path, "parquet", async () => {});
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await writeFile(path, "kept");
    await expect(writeExport(path, "ndjson", async () => {})).rejects.toMatchObject({ param: "out" });
    expect(await readFile(path, "utf8")).toBe("kept");
  });
});
