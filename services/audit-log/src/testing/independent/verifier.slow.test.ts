import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  ARCHIVE_TREE,
  checkpointKey,
  type Commit,
  commitKey,
  COPIES,
  COSIGNATURE,
  cosign,
  createNoteKey,
  joinHashes,
  parseCommit,
  parseNote,
  sha256Hex,
  SNAPSHOT_KEY,
  splitHashes,
  verifyArchive,
} from "@reprise/archive";
import { createMemoryStore } from "@reprise/archive/testing";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { unwrapIndependently } from "./segments.ts";
import { makeSmallArchive, type SmallArchive } from "../small-archive.ts";
import { type IndependentVerdict, verifyIndependently } from "./verifier.ts";

const whole = await makeSmallArchive();
const gap = await makeSmallArchive({ gapAt: 40 });
const witness = createNoteKey("witness", Buffer.alloc(32, 3), COSIGNATURE);
const MIDDLE = 30;

/** Returns the verdicts of both verifiers on an archive, given a witness's memory of the original. */
async function verdictsOf(archive: SmallArchive, original: SmallArchive, isOpened = false) {
  const checkpoint = Buffer.from(original.objects.get(checkpointKey(ARCHIVE_TREE))!).toString();
  const note = `${checkpoint}${cosign(parseNote(checkpoint).text, witness, 1_767_225_600)}`;
  await using temp = await createTempDir("independent");
  await using keys = await createTempDir("independent-keys");
  await unpack(archive.objects, temp.path);
  await unpack(archive.keys.objects, keys.path);
  const independent = await verifyIndependently({
    dir: temp.path,
    name: archive.name,
    vkeys: [archive.signer.vkey],
    kept: note,
    ...(isOpened && {
      keyOf: (header) => unwrapIndependently(keys.path, archive.keys.masterKey, header),
    }),
  });
  const ours = await verifyArchive({
    store: archive.store,
    name: archive.name,
    vkeys: [archive.signer],
    witnesses: [witness],
    witnessed: [{ where: "witness", note }],
    keyring: isOpened ? archive.keyring : undefined,
  });
  return { ours: ours.verdict, independent: independent.verdict };
}

async function unpack(objects: ReadonlyMap<string, Uint8Array>, dir: string): Promise<void> {
  for (const [key, bytes] of objects) {
    const path = join(dir, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
  }
}

type Objects = Map<string, Uint8Array>;

const keysUnder = (objects: Objects, prefix: string) =>
  [...objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();

/** The last file of the archive is in no merge. */
const lastOf = (objects: Objects, prefix: string) => keysUnder(objects, prefix).at(-1)!;

function flip(objects: Objects, key: string): void {
  const bytes = Uint8Array.from(objects.get(key)!);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = bytes[middle]! ^ 1;
  objects.set(key, bytes);
}

function swap(objects: Objects, a: string, b: string): void {
  const [first, second] = [objects.get(a)!, objects.get(b)!];
  objects.set(a, second).set(b, first);
}

/** Writes the commits so that each follows the one before it: only their signatures tell. */
function forge(objects: Objects, change: (commits: readonly Commit[]) => readonly Commit[]): void {
  const commits: Commit[] = [];
  for (let n = 0; objects.has(commitKey(n)); n++) commits.push(parseCommit(objects.get(commitKey(n))!, n));
  for (const { n } of commits) objects.delete(commitKey(n));
  let prev = "0".repeat(64);
  for (const [n, commit] of change(commits).entries()) {
    const bytes = Buffer.from(JSON.stringify({ ...commit, n, prev }));
    objects.set(commitKey(n), bytes);
    prev = sha256Hex(bytes);
  }
}

/** Changes the first tenant's part of the commit in the middle. */
function forgePart(objects: Objects, change: (part: Commit["tenants"][number]) => object): void {
  forge(objects, (commits) => {
    const commit = commits[MIDDLE]!;
    const [first, ...rest] = commit.tenants;
    const tenants = [{ ...first!, ...change(first!) }, ...rest];
    return commits.with(MIDDLE, { ...commit, tenants });
  });
}

const TAMPERINGS: readonly [string, (objects: Objects) => void][] = [
  ["a byte of a file is flipped", (objects) => flip(objects, lastOf(objects, "data/"))],
  ["a byte of a commit is flipped", (objects) => flip(objects, commitKey(MIDDLE))],
  ["a byte of a checkpoint is flipped", (objects) => flip(objects, checkpointKey(ARCHIVE_TREE))],
  ["a byte of a tile is flipped", (objects) => flip(objects, keysUnder(objects, "tile/")[0]!)],
  ["a byte of a blob's copy is flipped", (objects) => flip(objects, lastOf(objects, COPIES))],
  ["a part of a blob's copy is deleted", (objects) => objects.delete(lastOf(objects, COPIES))],
  ["a file is deleted", (objects) => objects.delete(lastOf(objects, "data/"))],
  ["a commit is deleted", (objects) => objects.delete(commitKey(MIDDLE))],
  ["two commits change places", (objects) => swap(objects, commitKey(MIDDLE), commitKey(MIDDLE + 1))],
  ["the end is cut off", (objects) => forge(objects, (commits) => commits.slice(0, -1))],
  ["a commit is left out", (objects) => forge(objects, (commits) => commits.toSpliced(MIDDLE, 1))],
  ["a file is left out", (objects) => forgePart(objects, () => ({ files: [], leaves: "" }))],
  [
    "a file has another time",
    (objects) =>
      forgePart(objects, ({ files }) => ({
        files: files.map((file) => ({ ...file, first_at: file.first_at + 1 })),
      })),
  ],
  [
    "leaves are in another order",
    (objects) =>
      forgePart(objects, ({ leaves }) => ({ leaves: joinHashes(splitHashes(leaves).toReversed()) })),
  ],
  [
    "a stretch of the stream is said to have been skipped",
    (objects) =>
      forge(objects, (commits) => {
        const { lane, ...commit } = commits[MIDDLE]!;
        return commits.with(MIDDLE, { ...commit, lane: { ...lane!, skipped: [[lane!.first, lane!.first]] } });
      }),
  ],
];

describe("a verifier that shares no code with the writer", () => {
  test.each<[string, SmallArchive, IndependentVerdict]>([
    ["that is as it was written", whole, "fine"],
    ["with a gap", gap, "gap"],
  ])("says the same of an archive %s, all of which it opens", async (_, archive, expected) => {
    const verdicts = await verdictsOf(archive, archive, true);
    expect(verdicts).toEqual({ ours: expected, independent: expected });
  });

  test.each(TAMPERINGS)("says the same when %s", async (_, tamper) => {
    const objects = new Map(whole.objects);
    tamper(objects);
    // The verifier does not look at snapshots, which follow from the commits.
    objects.delete(SNAPSHOT_KEY);
    const archive = { ...whole, objects, store: createMemoryStore(objects) };
    expect(await verdictsOf(archive, whole)).toEqual({ ours: "tampered", independent: "tampered" });
  });

  test("can't tell without a key, like the other", async () => {
    await using temp = await createTempDir("independent");
    await unpack(whole.objects, temp.path);
    const { verdict } = await verifyIndependently({ dir: temp.path, name: whole.name, vkeys: [] });
    expect(verdict).toBe("unknown");
  });
});
