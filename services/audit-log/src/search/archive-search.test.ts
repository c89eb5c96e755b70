import { DuckDBInstance } from "@duckdb/node-api";
import type { AuditSearch } from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { describe, expect, it, vi } from "vitest";
import { type FilledArchive, openFilledArchive } from "../testing/filled-archive.ts";
import { ArchiveSearch } from "./archive-search.ts";
import { localFiles } from "@reprise/facts/tables";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const HOUR_US = 3_600_000_000;
const tenant = createRef().tenant;

function searchIn({ archive, keyring, dir }: FilledArchive): ArchiveSearch {
  return new ArchiveSearch({ archive, keyring, files: localFiles(dir) });
}
async function idsOf(search: ArchiveSearch, query: Partial<AuditSearch>): Promise<string[]> {
  const { data } = await search.search({ tenant, limit: 100, ...query });
  return data.map(({ id }) => id);
}

describe("a search", () => {
  it("lists each generation of the tenant once, newest first, from any number of files", async () => {
    await using filled = await openFilledArchive();
    await using search = searchIn(filled);
    const [first, second, other] = [createRef(), createRef(), createRef("other")];
    filled.log(first, [requested(first), started()], NOON_US);
    filled.log(other, [requested(other)], NOON_US);
    await filled.commit();
    filled.log(second, [requested(second, { model: "big" })], NOON_US + HOUR_US);
    filled.event(first, 2, delta("a"), NOON_US + 2 * HOUR_US);
    filled.event(first, 3, completed(), NOON_US + 24 * HOUR_US);
    await filled.commit();
    expect(await search.search({ tenant, limit: 100 })).toEqual({
      object: "list",
      data: [
        {
          id: second.generation,
          object: "audit.generation",
          created_at: "2026-11-21T13:00:00.000Z",
          model: "big",
          status: "open",
          events: 1,
          last_at: "2026-11-21T13:00:00.000Z",
        },
        {
          id: first.generation,
          object: "audit.generation",
          created_at: "2026-11-21T12:00:00.000Z",
          model: "sim",
          status: "completed",
          events: 4,
          last_at: "2026-11-22T12:00:00.000Z",
        },
      ],
    });
    expect(await idsOf(search, { tenant: other.tenant })).toEqual([other.generation]);
    expect(await idsOf(search, { tenant: createRef("nobody").tenant })).toEqual([]);
  });

  it("knows of no end that the broker has lost, nor of the events with it", async () => {
    await using filled = await openFilledArchive();
    await using search = searchIn(filled);
    const ref = createRef();
    filled.log(ref, [requested(ref), started(), delta("a"), delta("b"), completed()], NOON_US);
    await filled.commit();
    expect((await search.search({ tenant, limit: 1 })).data).toMatchObject([
      { status: "completed", events: 5 },
    ]);
    filled.beginAnew();
    filled.event(ref, 2, started(2), NOON_US + HOUR_US);
    await filled.commit();
    expect((await search.search({ tenant, limit: 1 })).data).toMatchObject([{ status: "open", events: 3 }]);
    expect((await Array.fromAsync(filled.reader.events(ref))).map(({ seq }) => seq)).toEqual([0, 1, 2]);
  });

  it("narrows by time, model, status, metadata and subject, and by all of them", async () => {
    await using filled = await openFilledArchive();
    await using search = searchIn(filled);
    const refs = [createRef(), createRef(), createRef()] as const;
    const [a, b, c] = refs.map(({ generation }) => generation);
    filled.log(refs[0], [requested(refs[0], { metadata: { team: "x", env: "p" }, subject: "ann" })], NOON_US);
    filled.log(refs[1], [requested(refs[1], { metadata: { team: "x" } }), completed()], NOON_US + HOUR_US);
    filled.log(refs[2], [requested(refs[2], { model: "big", subject: "ann" })], NOON_US + 2 * HOUR_US);
    await filled.commit();
    const found = (query: Partial<AuditSearch>) => idsOf(search, query);
    expect(await found({ from: "2026-11-21T13:00:00Z" })).toEqual([c, b]);
    expect(await found({ to: "2026-11-21T13:00:00Z" })).toEqual([a]);
    expect(await found({ from: "2026-11-21T12:30:00Z", to: "2026-11-21T13:30:00Z" })).toEqual([b]);
    expect(await found({ model: "big" })).toEqual([c]);
    expect(await found({ status: "completed" })).toEqual([b]);
    expect(await found({ status: "open" })).toEqual([c, a]);
    expect(await found({ metadata: { team: "x" } })).toEqual([b, a]);
    expect(await found({ metadata: { team: "x", env: "p" } })).toEqual([a]);
    expect(await found({ subject: "ann" })).toEqual([c, a]);
    expect(await found({ subject: "ann", metadata: { team: "x" }, status: "open", model: "sim" })).toEqual([
      a,
    ]);
  });

  it("takes the query literally, quotes included", async () => {
    await using filled = await openFilledArchive();
    await using search = searchIn(filled);
    const ref = createRef();
    const hostile = "x' or 1=1; drop table segments; --";
    filled.log(ref, [requested(ref, { metadata: { [hostile]: hostile } })], NOON_US);
    await filled.commit();
    expect(await idsOf(search, { model: hostile })).toEqual([]);
    expect(await idsOf(search, { metadata: { [hostile]: hostile } })).toEqual([ref.generation]);
  });

  it("gives its pages one after the other without losing any, of those created at the same moment too", async () => {
    await using filled = await openFilledArchive();
    await using search = searchIn(filled);
    const refs = Array.from({ length: 7 }, () => createRef());
    for (const ref of refs) filled.log(ref, [requested(ref)], NOON_US);
    await filled.commit();
    const pages: string[][] = [];
    for (let after: string | undefined, more = true; more; more = after !== undefined) {
      const page = await search.search({ tenant, limit: 3, ...(after !== undefined && { after }) });
      pages.push(page.data.map(({ id }) => id));
      after = page.next;
    }
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(
      refs
        .map(({ generation }) => generation)
        .toSorted()
        .toReversed(),
    );
  });

  it("follows files that compaction replaces while they are searched in", async () => {
    await using filled = await openFilledArchive();
    const ref = createRef();
    filled.log(ref, [requested(ref)], NOON_US);
    await filled.commit();
    const files = localFiles(filled.dir);
    let tries = 0;
    const state = { files: filled.archive.state.files(tenant) };
    await using search = new ArchiveSearch({
      archive: {
        state: { files: () => state.files, records: () => [] },
        refresh: async () => void (state.files = filled.archive.state.files(tenant)),
      },
      keyring: filled.keyring,
      files: { use: (used, work) => (tries++, files.use(used, work)) },
    });
    state.files = state.files.map((file) => ({ ...file, key: "data/gone.parquet" }));
    expect(await idsOf(search, {})).toEqual([ref.generation]);
    expect(tries).toBe(2);
  });

  it("says when the keys of a generation were destroyed", async () => {
    await using filled = await openFilledArchive();
    await using search = searchIn(filled);
    const ref = createRef();
    filled.log(ref, [requested(ref)], NOON_US);
    await filled.commit();
    const at = "2026-11-22T12:00:00.000Z";
    await filled.sayErased(ref, at, ["k"]);
    const { data } = await search.search({ tenant, limit: 1 });
    expect(data).toMatchObject([{ id: ref.generation, erased_at: at }]);
  });
});

it("makes its database with the next search when it could not be made", async () => {
  await using filled = await openFilledArchive();
  await using search = searchIn(filled);
  const ref = createRef();
  filled.log(ref, [requested(ref)], NOON_US);
  await filled.commit();
  using create = vi.spyOn(DuckDBInstance, "create").mockRejectedValue(new Error("out of memory"));
  await expect(search.search({ tenant, limit: 1 })).rejects.toMatchObject({ code: "archive_unavailable" });
  create.mockRestore();
  expect(await idsOf(search, {})).toEqual([ref.generation]);
});
