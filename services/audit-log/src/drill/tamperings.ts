import {
  ARCHIVE_TREE,
  type BlobStore,
  checkpointKey,
  type Commit,
  commitKey,
  createNoteKey,
  encodeSegmentFile,
  joinHashes,
  readSegmentFile,
  sha256Hex,
  SNAPSHOT_KEY,
  splitHashes,
  type TenantPart,
} from "@reprise/archive";
import { changed, readCommits, signAgain, writeCommits } from "./forgery.ts";

/** One way to tamper with an archive. */
export interface Tampering {
  readonly name: string;
  apply(store: BlobStore): Promise<void>;
}

const isBatch = ({ lane, tenants }: Commit) => lane !== undefined && tenants.length === 2;

/** Every way that we know. Of those that begin with "forged", whoever did it made everything else fit. */
export const TAMPERINGS: readonly Tampering[] = [
  ...["data/", "_log/000000/", "checkpoint/", "tile/"].map((prefix): Tampering => ({
    name: `a byte is flipped: ${prefix}`,
    apply: async (store) => flip(store, (await keysOf(store, prefix))[0]!),
  })),
  {
    name: "a byte is flipped: the snapshot",
    apply: (store) => flip(store, SNAPSHOT_KEY),
  },
  {
    name: "a file is deleted",
    apply: async (store) => store.delete(await liveFile(store)),
  },
  {
    name: "a file is cut short",
    apply: async (store) => {
      const key = await liveFile(store);
      const bytes = (await store.get(key))!;
      await store.put(key, bytes.subarray(0, bytes.length - 1));
    },
  },
  {
    name: "two files are swapped",
    apply: async (store) => {
      const [a, b] = await liveFiles(store, "acme");
      const [first, second] = [await store.get(a!), await store.get(b!)];
      await store.put(a!, second!);
      await store.put(b!, first!);
    },
  },
  {
    name: "another tenant's file is put in place of one",
    apply: async (store) => {
      const [mine] = await liveFiles(store, "acme");
      const [other] = await liveFiles(store, "beta");
      await store.put(mine!, (await store.get(other!))!);
    },
  },
  { name: "a commit is deleted", apply: (store) => store.delete(commitKey(10)) },
  {
    name: "two commits change places",
    apply: async (store) => {
      const [first, second] = [await store.get(commitKey(10)), await store.get(commitKey(11))];
      await store.put(commitKey(10), second!);
      await store.put(commitKey(11), first!);
    },
  },
  {
    name: "the last commit is there twice",
    apply: async (store) => {
      const { length } = await readCommits(store);
      await store.put(commitKey(length), (await store.get(commitKey(length - 1)))!);
    },
  },
  {
    name: "the end is cut off",
    apply: async (store) => {
      const { length } = await readCommits(store);
      await store.delete(commitKey(length - 1));
    },
  },
  {
    name: "forged: everything is put back to an earlier state",
    apply: async (store) => {
      await writeCommits(store, (await readCommits(store)).slice(0, 30));
      await store.delete(checkpointKey(ARCHIVE_TREE));
    },
  },
  {
    name: "forged: a commit is left out",
    apply: async (store) => writeCommits(store, (await readCommits(store)).toSpliced(20, 1)),
  },
  {
    name: "forged: two commits are in another order",
    apply: async (store) => {
      const commits = await readCommits(store);
      await writeCommits(store, commits.toSpliced(20, 2, commits[21]!, commits[20]!));
    },
  },
  {
    name: "forged: a commit is there twice",
    apply: async (store) => {
      const commits = await readCommits(store);
      await writeCommits(store, commits.toSpliced(20, 0, commits[20]!));
    },
  },
  forged("a file is left out", isBatch, (part) => ({ ...part, files: [] })),
  forged("a file is left out with its leaves", isBatch, (part) => ({ ...part, files: [], leaves: "" })),
  forged("the leaves of a file are in another order", isBatch, (part) => ({
    ...part,
    leaves: joinHashes(splitHashes(part.leaves).toReversed()),
  })),
  forged("a file has another time", isBatch, (part) => ({
    ...part,
    files: part.files.map((file) => ({ ...file, first_at: file.first_at + 1 })),
  })),
  forged(
    "an erasure has another reason",
    ({ tenants }) => tenants.some(({ records }) => records.length > 0),
    (part) => ({
      ...part,
      records: part.records.map((record) =>
        record.kind === "erasure_requested" ? { ...record, reason: "none" } : { ...record, at: "never" },
      ),
    }),
  ),
  forged(
    "an erasure is left out",
    ({ tenants }) => tenants.some(({ records }) => records.length > 0),
    (part) => ({ ...part, records: [] }),
  ),
  forged(
    "a merge loses a file",
    ({ tenants }) => tenants.some(({ removes }) => removes.length > 0),
    (part) => ({ ...part, files: [] }),
  ),
  forgedFile("a segment is left out", (segments) => segments.slice(1)),
  forgedFile("a segment is of another time", ([first, ...rest]) => [
    { ...first!, header: { ...first!.header, last_at: first!.header.last_at + 1 } },
    ...rest,
  ]),
  forgedFile("what is sealed is another", ([first, ...rest]) => [
    { ...first!, sealed: first!.sealed.map((byte, i) => (i === 0 ? byte ^ 1 : byte)) },
    ...rest,
  ]),
  {
    name: "forged: a stretch of the stream is said to have been skipped",
    apply: async (store) => {
      const commits = changed(await readCommits(store), isBatch, (commit) => ({
        ...commit,
        lane: { ...commit.lane!, skipped: [[commit.lane!.first, commit.lane!.first]] },
      }));
      await writeCommits(store, commits);
    },
  },
  {
    name: "forged: signed again with another key of the same name",
    apply: (store) => signAgain(store, createNoteKey("drill")),
  },
];

/** A commit says something else of its first tenant. */
function forged(
  name: string,
  which: (commit: Commit) => boolean,
  change: (part: TenantPart) => TenantPart,
): Tampering {
  return {
    name: `forged: ${name}`,
    async apply(store) {
      const commits = changed(await readCommits(store), which, (commit) => {
        const [first, ...rest] = commit.tenants;
        return { ...commit, tenants: [change(first!), ...rest] };
      });
      await writeCommits(store, commits);
    },
  };
}

/** A file is written anew, and the commit says so. */
function forgedFile(
  name: string,
  change: (segments: Awaited<ReturnType<typeof readSegmentFile>>) => typeof segments,
): Tampering {
  return {
    name: `forged: in a file ${name}`,
    async apply(store) {
      const live = new Set(await liveFiles(store, "beta"));
      const commits = await readCommits(store);
      const part = commits
        .flatMap(({ tenants }) => tenants)
        .find(({ files }) => live.has(files[0]?.key ?? ""))!;
      const [file] = part.files;
      const bytes = encodeSegmentFile(change(await readSegmentFile((await store.get(file!.key))!)));
      await store.put(file!.key, bytes);
      const entry = { ...file!, sha256: sha256Hex(bytes), bytes: bytes.length };
      await writeCommits(
        store,
        commits.map((commit) => ({
          ...commit,
          tenants: commit.tenants.map((one) => (one === part ? { ...one, files: [entry] } : one)),
        })),
      );
    },
  };
}

/** Files that are part of the archive, oldest first. */
async function liveFiles(store: BlobStore, tenant: string): Promise<string[]> {
  const live = new Set<string>();
  for (const { tenants } of await readCommits(store)) {
    for (const part of tenants) {
      if (part.tenant !== tenant) continue;
      for (const { key } of part.files) live.add(key);
      for (const key of part.removes) live.delete(key);
    }
  }
  return [...live];
}

async function liveFile(store: BlobStore): Promise<string> {
  return (await liveFiles(store, "acme"))[0]!;
}

async function keysOf(store: BlobStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  const live = new Set([...(await liveFiles(store, "acme")), ...(await liveFiles(store, "beta"))]);
  for await (const { key } of store.list(prefix)) if (prefix !== "data/" || live.has(key)) keys.push(key);
  return keys;
}

async function flip(store: BlobStore, key: string): Promise<void> {
  const bytes = Uint8Array.from((await store.get(key))!);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = bytes[middle]! ^ 1;
  await store.put(key, bytes);
}
