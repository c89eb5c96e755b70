import {
  decodeEvent,
  encodeOpsRecord,
  encodeVerdict,
  type KnownEvent,
  type RepriseError,
  asSeq,
} from "@reprise/protocol";
import { describe, expect, it } from "vitest";
import { ArchiveReader } from "./archive-reader.ts";
import type { LogEvent } from "./log-outline.ts";
import {
  createRef,
  createStoredArchive,
  type LogPart,
  sealLog,
  sealMessages,
} from "./stored-archive.fixture.ts";

const ref = createRef();
const stranger = createRef("stranger");

/** One file for each part of the log. */
function stored(parts: readonly LogPart[]) {
  const archive = createStoredArchive(ref);
  const files = parts.map((part) => archive.addFile([sealLog(archive, part)]));
  return { archive, files, reader: new ArchiveReader(archive) };
}

const textOf = ({ payload }: LogEvent) => (decodeEvent(payload) as KnownEvent & { text: string }).text;
async function textsOf(events: AsyncIterable<LogEvent>): Promise<string[]> {
  return (await Array.fromAsync(events)).map(textOf);
}
const refused = (code: string) =>
  expect.objectContaining<Partial<RepriseError>>({ code: code as "internal" });

describe("the reader of an archive", () => {
  it("gives a log's events in their order, from any of them on, out of any number of files", async () => {
    const { reader } = stored([
      { firstSeq: 3, texts: ["d", "e"] },
      { firstSeq: 0, texts: ["a", "b", "c"] },
    ]);
    expect(await textsOf(reader.events(ref))).toEqual(["a", "b", "c", "d", "e"]);
    expect(await textsOf(reader.events(ref, { fromSeq: asSeq(2) }))).toEqual(["c", "d", "e"]);
    expect(await textsOf(reader.events(ref, { fromSeq: asSeq(9) }))).toEqual([]);
  });

  it("continues with what took the place of events that the broker has lost", async () => {
    const { reader } = stored([
      { firstSeq: 0, texts: ["a", "b", "lost"] },
      { firstSeq: 2, texts: ["c", "d"], epoch: 1, streamSeq: 1 },
    ]);
    expect(await textsOf(reader.events(ref))).toEqual(["a", "b", "c", "d"]);
  });

  it("ends where an event is missing, and says beforehand that it will", async () => {
    const { reader } = stored([
      { firstSeq: 0, texts: ["a"] },
      { firstSeq: 3, texts: ["d"] },
    ]);
    expect((await reader.logOf(ref)).holes).toEqual([{ fromSeq: 1, toSeq: 2 }]);
    const events = reader.events(ref);
    expect(textOf((await events.next()).value)).toBe("a");
    await expect(events.next()).rejects.toEqual(refused("cursor_expired"));
    expect(await textsOf(reader.events(ref, { fromSeq: asSeq(3) }))).toEqual(["d"]);
    expect((await reader.outlineOf(ref)).lastSeq).toBe(3);
  });

  it("has nothing of another tenant's generation, nor of one that it does not know", async () => {
    const { reader } = stored([{ firstSeq: 0, texts: ["a"] }]);
    for (const other of [{ ...ref, tenant: stranger.tenant }, createRef()])
      await expect(reader.events(other).next()).rejects.toEqual(refused("generation_not_found"));
  });

  it("follows segments into the file that compaction has put them in, in the middle of a log too", async () => {
    const { archive, reader } = stored([]);
    const segments = [0, 1, 2].map((firstSeq) => sealLog(archive, { firstSeq, texts: [`${firstSeq}`] }));
    const files = segments.map((segment) => archive.addFile([segment]));
    const events = reader.events(ref);
    await events.next();
    archive.addFile(segments);
    for (const { key } of files) archive.removeFile(key);
    expect(await textsOf(events)).toEqual(["1", "2"]);
    expect(await textsOf(reader.events(ref))).toEqual(["0", "1", "2"]);
  });

  it("calls an archive corrupt that lacks a file which it names", async () => {
    const { archive, files, reader } = stored([{ firstSeq: 0, texts: ["a"] }]);
    archive.removeFile(files[0]!.key);
    archive.archive.refresh = async () => {};
    await expect(reader.events(ref).next()).rejects.toEqual(refused("archive_corrupt"));
  });

  it("reads nothing of a generation whose keys were destroyed, not even with a key that it has used", async () => {
    const { archive, reader } = stored([{ firstSeq: 0, texts: ["a"] }]);
    expect(await textsOf(reader.events(ref))).toEqual(["a"]);
    const [at, id] = ["2026-11-21T12:00:00.000Z", "era_1"];
    const { generation } = ref;
    archive.addRecord({
      kind: "erasure_requested",
      at: "2026-11-21T11:00:00.000Z",
      id,
      by: "ann",
      reason: "art. 17",
      generations: [generation],
      purged: {},
    });
    expect(reader.erasedAt(ref)).toBeUndefined();
    archive.addRecord({ kind: "key_destroyed", at, id, kids: ["k1"] });
    expect(reader.erasedAt(ref)).toBe(at);
    await expect(reader.events(ref).next()).rejects.toEqual(refused("generation_erased"));
    expect(await reader.segmentsOf(ref)).toHaveLength(1);
  });

  it("trusts the keyring that a key is gone", async () => {
    const { archive, reader } = stored([{ firstSeq: 0, texts: ["a"] }]);
    archive.destroyKeys();
    await expect(reader.events(ref).next()).rejects.toEqual(refused("generation_erased"));
  });

  it("gives the last verdict, and what was recorded beside the log", async () => {
    const { archive, reader } = stored([{ firstSeq: 0, texts: ["a"] }]);
    expect(await reader.verdictOf(ref)).toBeUndefined();
    const verdicts = [1, 2].map(asSeq).map((judged) => ({ judged, cleared: judged, decided: asSeq(0) }));
    const erased = { kind: "erased", at: "2026-11-21T12:00:00.000Z", erasure: "era_1" } as const;
    archive.addFile([
      sealMessages(archive, "verdict", verdicts.map(encodeVerdict)),
      sealMessages(archive, "ops", [encodeOpsRecord(erased), Buffer.from("no record")]),
    ]);
    expect(await reader.verdictOf(ref)).toEqual(verdicts[1]);
    expect(await Array.fromAsync(reader.opsOf(ref))).toEqual([erased]);
  });

  it("finds a log's outline once, and again when more of the log is archived", async () => {
    const { archive, reader } = stored([{ firstSeq: 0, texts: ["a"] }]);
    const outline = await reader.outlineOf(ref);
    expect(await reader.outlineOf(ref)).toBe(outline);
    archive.addFile([sealLog(archive, { firstSeq: 1, texts: ["b"] })]);
    expect((await reader.outlineOf(ref)).lastSeq).toBe(1);
  });
});
