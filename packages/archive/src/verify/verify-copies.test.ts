import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ArchiveState } from "../commit/archive-state.ts";
import type { ArchiveRecord, BlobCopy } from "../commit/record.ts";
import { BLOB, copyOf, createDataKey, TENANT } from "../copies/copies.fixture.ts";
import { partKey } from "../copies/copy-keys.ts";
import type { DataKey } from "../keys/keyring.ts";
import { createS3Store } from "../store/s3-store.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { startS3Server } from "../testing/s3-server.ts";
import { verifyArchive } from "./verify-archive.ts";
import { openWrittenArchive, signer } from "./written-archive.fixture.ts";

const AT = "2026-11-24T12:00:00.000Z";
const CONTENT = randomBytes(300_000);

/** An archive with a batch of a log, and a copy of a blob. */
async function openArchiveWithCopy(store = createMemoryStore()) {
  const { add, archive } = await openWrittenArchive(store);
  await add(0);
  const key = createDataKey();
  const copy = (await copyOf(store, key, CONTENT))!;
  const record = (...records: ArchiveRecord[]) =>
    archive.append(() => ({ tenants: [{ tenant: TENANT, leaves: [], files: [], removes: [], records }] }));
  await record(copy);
  let opens: DataKey | "destroyed" | "unknown" = key;
  const keyring = { open: async (_: string, kid: string) => (kid === key.kid ? opens : "unknown") };
  return {
    store,
    archive,
    copy,
    key,
    record,
    setKey: (now: typeof opens) => (opens = now),
    verify: async ({ withKeys = true, since = 0 } = {}) => {
      const of = { store, name: "test", vkeys: [signer], witnesses: [], witnessed: [], since };
      const report = await verifyArchive({ ...of, ...(withKeys && { keyring }) });
      // Those of the log are of a key that is not at hand.
      const findings = report.findings.filter(({ where }) => where !== "test");
      return { ...report, findings };
    },
  };
}

test("a copy that is as it was committed is fine, with and without keys, and is counted", async () => {
  const { verify } = await openArchiveWithCopy();
  expect(await verify()).toMatchObject({ copies: 1, findings: [] });
  expect(await verify({ withKeys: false })).toMatchObject({ verdict: "fine", copies: 1, findings: [] });
  expect(await verify({ withKeys: false, since: 1 })).toMatchObject({ copies: 1 });
  expect(await verify({ withKeys: false, since: 2 })).toMatchObject({ copies: 0 });
});

test("a copy in a bucket is verified as one in a folder is", async () => {
  await using server = await startS3Server();
  const { region, keyId, secret, objects } = server;
  const world = await openArchiveWithCopy(createS3Store({ url: server.url, region, keyId, secret }));
  expect(await world.verify()).toMatchObject({ copies: 1, findings: [] });
  objects.delete(partKey(world.copy.key, 1));
  expect(await world.verify()).toMatchObject({ verdict: "tampered" });
});

describe("is tampered with", () => {
  const changed = async (store: BlobStore, key: string, change: (bytes: Uint8Array) => Uint8Array) =>
    store.put(key, change((await store.get(key))!));
  test.each<[string, RegExp, (store: BlobStore, copy: BlobCopy) => Promise<void>]>([
    [
      "is changed",
      /is not the copy|was changed/,
      (store, { key }) => changed(store, partKey(key, 1), flipLast),
    ],
    ["has a longer part", /is too long/, (store, { key }) => changed(store, partKey(key, 1), grow)],
    [
      "has a shorter part",
      /is not the copy|was changed/,
      (store, { key }) => changed(store, partKey(key, 1), (b) => b.subarray(1)),
    ],
    ["is missing", /000000 is missing/, (store, { key }) => store.delete(partKey(key, 0))],
    ["misses its end", /000001 is missing/, (store, { key }) => store.delete(partKey(key, 1))],
  ])("a copy that %s, whether or not its key is at hand", async (_, because, tamper) => {
    const { store, copy, verify } = await openArchiveWithCopy();
    await tamper(store, copy);
    for (const withKeys of [true, false]) {
      const { verdict, findings } = await verify({ withKeys });
      expect(verdict).toBe("tampered");
      expect(findings).toEqual([
        { kind: "tampered", where: copy.key, message: expect.stringMatching(because) },
      ]);
    }
  });

  test("a copy whose parts were written again by who may sign, and not by who has its key", async () => {
    const { store, record, verify } = await openArchiveWithCopy();
    await record({ ...(await copyOf(store, createDataKey(), CONTENT))! });
    expect((await verify()).findings).toMatchObject([
      { kind: "tampered", message: /The key is not the one/ },
    ]);
  });

  test.each<[string, (copy: BlobCopy) => ArchiveRecord]>([
    ["names a copy of another tenant", (copy) => ({ ...copy, key: copy.key.replace("acme", "beta") })],
    ["names a copy of another blob", (copy) => ({ ...copy, key: copy.key.replace(BLOB, "blob_other") })],
    ["names what is no copy", (copy) => ({ ...copy, key: "_log/000000" })],
    ["names a copy twice", (copy) => copy],
    ["removes a copy that was not there", () => ({ kind: "copies_deleted", at: AT, keys: ["blob/none"] })],
  ])("a commit that %s", async (_, toRecord) => {
    const { copy, record, verify } = await openArchiveWithCopy();
    await record(toRecord(copy));
    const { findings } = await verify({ withKeys: false });
    expect(findings).toMatchObject([{ kind: "tampered", where: "_log/000000/0000000002.json" }]);
  });

  test("a copy whose key was destroyed and is there again", async () => {
    const { record, verify } = await openArchiveWithCopy();
    await record({ kind: "key_destroyed", at: AT, id: "era_1", kids: [createDataKey().kid] });
    const { findings } = await verify();
    expect(findings.filter(({ kind }) => kind === "tampered")).toMatchObject([{ message: /there again/ }]);
  });
});

test("a copy whose key a record says is destroyed may be there, and may be gone", async () => {
  const { store, copy, record, setKey, verify } = await openArchiveWithCopy();
  await record({ kind: "key_destroyed", at: AT, id: "era_1", kids: [copy.kid] });
  setKey("destroyed");
  expect((await verify()).findings.map(({ kind }) => kind)).toEqual(["note", "note"]);
  for (const index of [0, 1]) await store.delete(partKey(copy.key, index));
  expect(await verify()).toMatchObject({ copies: 0, findings: [] });
});

test("a copy whose key is gone, and no record says why, can't be told", async () => {
  const { copy, setKey, verify } = await openArchiveWithCopy();
  setKey("destroyed");
  expect((await verify()).findings).toMatchObject([{ kind: "unknown", where: copy.key }]);
  setKey("unknown");
  expect((await verify()).findings).toMatchObject([{ kind: "unknown", message: "its key is not at hand" }]);
});

test("what is added to copies is no part of the archive, and is told", async () => {
  const { store, copy, key, verify } = await openArchiveWithCopy();
  await copyOf(store, key, CONTENT);
  await store.put(partKey(copy.key, 2), randomBytes(10));
  const { verdict, findings } = await verify({ withKeys: false });
  expect(verdict).toBe("fine");
  expect(findings).toHaveLength(3);
  expect(findings).toContainEqual({ kind: "note", where: partKey(copy.key, 2), message: expect.any(String) });
});

test("a copy whose time is over is part of the archive no more", async () => {
  const { archive, copy, record, verify } = await openArchiveWithCopy();
  await record({ kind: "copies_deleted", at: AT, keys: [copy.key] });
  expect(archive.state.copies(TENANT).size).toBe(0);
  expect(await verify({ withKeys: false })).toMatchObject({ verdict: "fine", copies: 0 });
});

test.each([
  ["gone", "gap"],
  ["damaged", "gap"],
  ["erased", "fine"],
] as const)("a blob that was %s before it could be copied is told: %s", async (reason, verdict) => {
  const { record, verify } = await openArchiveWithCopy();
  await record({ kind: "blob_missed", at: AT, reason, blob: BLOB });
  const report = await verify({ withKeys: false });
  expect(report.verdict).toBe(verdict);
  expect(report.findings).toMatchObject([
    { message: `the bytes of ${BLOB} of acme are not archived: ${reason}` },
  ]);
});

test("a snapshot keeps what copies there are", async () => {
  const { archive, copy } = await openArchiveWithCopy();
  const again = ArchiveState.of(JSON.parse(JSON.stringify(archive.state)));
  expect([...again.copies(TENANT).values()]).toEqual([copy]);
});

function flipLast(bytes: Uint8Array): Uint8Array {
  bytes[bytes.length - 1]! ^= 1;
  return bytes;
}

function grow(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.of(0)]);
}
