import { asStreamSeq, type StreamSeq } from "@reprise/protocol";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import { ArchiveState } from "../commit/archive-state.ts";
import { SNAPSHOT_KEY } from "../store/paths.ts";
import { hashLeaf } from "../merkle/hash.ts";
import { encodeSegmentFile, FORMAT_KEY, FORMAT_VERSION } from "../parquet/encode-segment-file.ts";
import { SEGMENT_SCHEMA, toColumns } from "../parquet/segment-columns.ts";
import type { Segment } from "../segment/segment-header.ts";
import { type BatchChange, openWrittenArchive } from "./written-archive.fixture.ts";

test("an unchanged archive is fine", async () => {
  const { add, verify } = await openWrittenArchive();
  for (let n = 0; n < 3; n++) await add(n);
  await add(3, { lane: { epoch: 1, first: asStreamSeq(11), last: asStreamSeq(20) } });
  await add(4, { lane: { epoch: 2, created: "later", first: asStreamSeq(1), last: asStreamSeq(10) } });
  expect(await verify()).toMatchObject({ verdict: "fine", commits: 5, files: 5, segments: 10, events: 50 });
});

describe("the snapshot, which is not signed", () => {
  const records = [
    { kind: "key_destroyed" as const, at: "2026-11-21T00:00:00Z", id: "never", kids: ["p.page.0"] },
  ];
  const forged = { tenant: "acme", files: [], records, tree: { size: 0, edge: [] } };
  // `open` begins with what the snapshot says, so an erasure that was never asked for would be heeded.
  test.each([
    ["of no commits, with a record in it", { ...toJson(new ArchiveState()), tenants: [forged] }, "amount to"],
    ["of more commits than there are", { ...toJson(new ArchiveState()), next: 9 }, "of 9 commits"],
    ["that is none", "nothing", "is no snapshot"],
  ])("is tampered with when it is one %s", async (_, snapshot, because) => {
    const { store, add, verify } = await openWrittenArchive();
    await add(0);
    await store.put(SNAPSHOT_KEY, Buffer.from(JSON.stringify(snapshot)));
    const { verdict, findings } = await verify();
    expect(verdict).toBe("tampered");
    expect(findings).toEqual([
      { kind: "tampered", where: SNAPSHOT_KEY, message: expect.stringContaining(because) },
    ]);
  });

  test("may be written in another way, and old", async () => {
    const { store, archive, add, verify } = await openWrittenArchive();
    await add(0);
    await store.put(SNAPSHOT_KEY, Buffer.from(JSON.stringify(archive.state, undefined, 2)));
    await add(1);
    expect(await verify()).toMatchObject({ verdict: "fine" });
  });
});

/* What the archive's own signature does not show, because its writer had the key. */
describe("an archiver's own doing is tampering when", () => {
  test.each<[string, string, BatchChange]>([
    ["a stream begins after its first place", "does not follow", { lane: { stream: "GENERATIONS_1" } }],
    [
      "a new epoch leaves places out",
      "does not follow",
      { lane: { epoch: 1, first: asStreamSeq(13), last: asStreamSeq(22) } },
    ],
    [
      "a stream that was made again is not read from its first place",
      "does not follow",
      { lane: { epoch: 1, created: "later" } },
    ],
    [
      "a file's key is another tenant's",
      "can't be one of acme",
      { key: (key) => key.replace("acme", "beta") },
    ],
    [
      "a file's key is not of its hash",
      "can't be one of acme",
      { key: (key) => key.replace(/[0-9a-f]{12}\./, "000000000000.") },
    ],
    [
      "a file's key says other places",
      "holds a segment of",
      { key: (key) => key.replace("-11-20-", "-11-19-") },
    ],
    ["a file lies outside", "can't be one of acme", { key: () => "_log/data.parquet" }],
    [
      "a tenant's name is a path",
      "its tenants are not",
      { tenant: "acme/beta", key: (key) => key.replace("acme/beta", "acme") },
    ],
    [
      "rows are in another order",
      "does not hold what its commit says",
      { encode: (segments) => encodeRows(segments.toReversed()) },
    ],
    [
      "a column hides a model",
      "the column model",
      { encode: (segments) => encodeRows(segments, { model: ["other", undefined] }) },
    ],
    [
      "a column has another time",
      "the column first_at",
      { encode: (segments) => encodeRows(segments, { first_at: [1n, 2n] }) },
    ],
    [
      "a column hides a generation",
      "the column generation",
      { encode: (segments) => encodeRows(segments, { generation: ["gen_0_x", "gen_0_x"] }) },
    ],
    [
      "a leaf is there twice",
      "has a leaf twice",
      { part: ({ leaves, ...part }) => ({ ...part, leaves: [leaves[0]!, leaves[0]!] }) },
    ],
    [
      "a segment has no leaf",
      "has 1 new leaves for 2 segments",
      { part: ({ leaves, ...part }) => ({ ...part, leaves: leaves.slice(1) }) },
    ],
    [
      "a segment's leaf is another one",
      "is no leaf of the tree",
      { part: ({ leaves, ...part }) => ({ ...part, leaves: [leaves[0]!, hashLeaf(Buffer.from("x"))] }) },
    ],
    [
      "a file has fewer segments than its commit says",
      "1 segments of the tree are in no file",
      { encode: (segments) => encodeSegmentFile(segments.slice(1)) },
    ],
    [
      "a merge loses an event",
      "hold less or more than before",
      {
        part: ({ files: [file], ...part }, { key }) => ({
          ...part,
          leaves: [],
          files: [{ ...file!, events: 9 }],
          removes: [key],
        }),
      },
    ],
    [
      "a file is removed without a record",
      "no record says why",
      { part: (part, { key }) => ({ ...part, leaves: [], files: [], removes: [key] }) },
    ],
  ])("%s", async (_, because, change) => {
    const { add, verify } = await openWrittenArchive();
    await add(0);
    await add(1, change);
    const { verdict, commits, findings } = await verify();
    expect({ verdict, commits }).toEqual({ verdict: "tampered", commits: 2 });
    expect(findings.map(({ message }) => message).join("\n")).toContain(because);
  });
});

describe("places of a stream that were left out", () => {
  const created = "2026-11-21T00:00:00Z";
  const purged = {
    GENERATIONS_0: { created, ranges: [[asStreamSeq(5), asStreamSeq(7)] satisfies [StreamSeq, StreamSeq]] },
  };
  const base = { at: "2026-11-21T00:00:00Z", id: "e", by: "ann", reason: "" };
  const record = { kind: "erasure_requested" as const, ...base, generations: ["gen_0_9"], purged };
  const erasure = { tenants: [{ tenant: "acme", leaves: [], files: [], removes: [], records: [record] }] };

  test("are in order where an erasure names them, and worth a note where none does", async () => {
    const { archive, add, verify } = await openWrittenArchive();
    await archive.append(() => erasure);
    await add(0, { lane: { last: asStreamSeq(13), skipped: [[asStreamSeq(5), asStreamSeq(7)]] } });
    expect((await verify()).findings).toEqual([]);
    await add(1, {
      lane: { first: asStreamSeq(14), last: asStreamSeq(25), skipped: [[asStreamSeq(14), asStreamSeq(15)]] },
    });
    expect(await verify()).toMatchObject({
      verdict: "fine",
      findings: [
        { kind: "note", where: "GENERATIONS_0", message: "2 places were left out that no erasure names" },
      ],
    });
  });

  test("are in order too where the erasure names them after the commit that has left them out", async () => {
    const { archive, add, verify } = await openWrittenArchive();
    await add(0, { lane: { last: asStreamSeq(13), skipped: [[asStreamSeq(5), asStreamSeq(7)]] } });
    await archive.append(() => erasure);
    expect((await verify()).findings).toEqual([]);
  });

  test("are not those that an erasure names, when the stream was made again since", async () => {
    const { archive, add, verify } = await openWrittenArchive();
    await archive.append(() => erasure);
    await add(0);
    const anew = { epoch: 1, created: "2026-11-22T00:00:00Z", first: asStreamSeq(1), last: asStreamSeq(13) };
    await add(1, { lane: { ...anew, skipped: [[asStreamSeq(5), asStreamSeq(7)]] } });
    const { findings } = await verify();
    expect(findings.map(({ message }) => message)).toContain("3 places were left out that no erasure names");
  });
});

test("litter does not hide what is wrong", async () => {
  const { store, add, verify } = await openWrittenArchive();
  const { key } = await add(0);
  for (let n = 0; n < 1_100; n++) await store.put(`data/litter-${n}`, new Uint8Array());
  await store.put(key, Buffer.from("something else"));
  const { findings } = await verify();
  expect(findings.filter(({ kind }) => kind === "tampered").map(({ where }) => where)).toContain(key);
  expect(findings.length).toBeLessThan(300);
});

test("a file takes no more memory than its commit allows, however large it has become", async () => {
  const { store, add, verify } = await openWrittenArchive();
  const file = await add(0);
  const asked: (number | undefined)[] = [];
  const get = store.get.bind(store);
  store.get = (key, range) => {
    if (key === file.key) asked.push(range?.length);
    return get(key, range);
  };
  await store.put(file.key, new Uint8Array(10 * file.bytes));
  expect(await verify()).toMatchObject({ verdict: "tampered" });
  expect(asked).toEqual([file.bytes + 1]);
});

function toJson(state: ArchiveState): Record<string, unknown> {
  return JSON.parse(JSON.stringify(state)) as Record<string, unknown>;
}

/** A file as no code of ours writes it. */
function encodeRows(
  segments: readonly Segment[],
  columns: Record<string, readonly unknown[]> = {},
): Uint8Array {
  const columnData = toColumns(segments).map((column) => ({
    ...column,
    data: [...(columns[column.name] ?? column.data)],
  }));
  return new Uint8Array(
    parquetWriteBuffer({
      schema: SEGMENT_SCHEMA,
      columnData,
      codec: "UNCOMPRESSED",
      kvMetadata: [{ key: FORMAT_KEY, value: FORMAT_VERSION }],
    }),
  );
}
