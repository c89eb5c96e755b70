import {
  ARCHIVE_TREE,
  type BlobStore,
  checkpointKey,
  type Commit,
  commitKey,
  createNoteKey,
  COPIES,
  encodeSegmentFile,
  joinHashes,
  type Keyring,
  liveCopies,
  type NoteKey,
  parseNote,
  parsePartKey,
  type Segment,
  sha256Hex,
  SNAPSHOT_KEY,
  splitHashes,
  type TenantPart,
} from "@reprise/archive";
import {
  changed,
  existing,
  NotApplicable,
  partsOf,
  readCommits,
  readObject,
  readSegments,
  signAgain,
  writeCommits,
} from "./forgery.ts";

/** One way to tamper with an archive. */
export interface Tampering {
  readonly name: string;
  /** What verifying is to say. Default: tampered. */
  readonly expected?: "unknown";
  /** Only who opens what is sealed can tell. */
  readonly isSealed?: true;
  /** @throws NotApplicable when the archive has nothing of the kind, or a key is not at hand */
  apply(store: BlobStore, keys?: DrillKeys): Promise<void>;
}

/** What only an archive's owner has. */
export interface DrillKeys {
  readonly signer?: NoteKey;
  readonly keyring?: Pick<Keyring, "open">;
}

const isBatch = ({ lane, tenants }: Commit) => lane !== undefined && tenants.length > 0;

const hasTwoLeaves = ({ tenants: [part] }: Commit) =>
  part !== undefined && splitHashes(part.leaves).length > 1;

/** Every known way. Those that begin with "forged" make everything else fit. */
export const TAMPERINGS: readonly Tampering[] = [
  ...["data/", "_log/000000/", "checkpoint/", "tile/"].map((prefix): Tampering => ({
    name: `a byte is flipped: ${prefix}`,
    apply: async (store) => flip(store, (await keysOf(store, prefix))[0]),
  })),
  {
    name: "a byte is flipped: the snapshot",
    apply: async (store) => flip(store, (await keysOf(store, SNAPSHOT_KEY))[0]),
  },
  {
    name: "a file is deleted",
    async apply(store) {
      const [{ key }] = await liveFiles(store);
      await store.delete(key);
    },
  },
  {
    name: "a byte is flipped: a blob's copy",
    apply: async (store) => flip(store, (await liveParts(store))[1]),
  },
  {
    name: "a part of a blob's copy is deleted",
    async apply(store) {
      const parts = await liveParts(store);
      await store.delete(existing(parts.at(-1), "part of a copy"));
    },
  },
  {
    name: "two copies of blobs are swapped",
    async apply(store) {
      const parts = await liveParts(store);
      const [first, second] = parts.filter((key) => key.endsWith("/000001"));
      await swap(store, existing(first, "copy"), existing(second, "second copy"));
    },
  },
  {
    name: "a file is cut short",
    apply: async (store) => {
      const [{ key }] = await liveFiles(store);
      const bytes = await readObject(store, key);
      await store.put(key, bytes.subarray(0, bytes.length - 1));
    },
  },
  {
    name: "two files are swapped",
    apply: async (store) => {
      const [first, ...rest] = await liveFiles(store);
      const other = existing(
        rest.find(({ sha256 }) => sha256 !== first.sha256),
        "other file",
      );
      await swap(store, first.key, other.key);
    },
  },
  {
    name: "another tenant's file is put in place of one",
    apply: async (store) => {
      const [mine, ...rest] = await liveFiles(store);
      const other = existing(
        rest.find(({ tenant }) => tenant !== mine.tenant),
        "other tenant",
      );
      await store.put(mine.key, await readObject(store, other.key));
    },
  },
  {
    name: "a commit is deleted",
    apply: async (store) => store.delete(commitKey(await middle(store))),
  },
  {
    name: "two commits change places",
    apply: async (store) => {
      const n = await middle(store);
      await swap(store, commitKey(n), commitKey(n + 1));
    },
  },
  {
    name: "the last commit is there twice",
    apply: async (store) => {
      const { length } = await readCommits(store);
      await store.put(commitKey(length), await readObject(store, commitKey(length - 1)));
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
    name: "a tenant's signed checkpoint is put in place of the archive's",
    apply: async (store) => {
      const { checkpoint } = existing(partsOf(await readCommits(store)).at(-1), "tenant");
      await store.put(checkpointKey(ARCHIVE_TREE), Buffer.from(checkpoint));
    },
  },
  {
    name: "forged: everything is put back to an earlier state",
    apply: async (store) => {
      await writeCommits(store, (await readCommits(store)).slice(0, await middle(store)));
      await store.delete(checkpointKey(ARCHIVE_TREE));
    },
  },
  {
    name: "forged: a commit is left out",
    apply: async (store) => writeCommits(store, (await readCommits(store)).toSpliced(await middle(store), 1)),
  },
  {
    name: "forged: two commits are in another order",
    apply: async (store) => {
      const commits = await readCommits(store);
      const n = await middle(store);
      await writeCommits(store, commits.toSpliced(n, 2, ...commits.slice(n, n + 2).toReversed()));
    },
  },
  {
    name: "forged: a commit is there twice",
    apply: async (store) => {
      const commits = await readCommits(store);
      const n = await middle(store);
      await writeCommits(store, commits.toSpliced(n, 0, ...commits.slice(n, n + 1)));
    },
  },
  forged("a file is left out", isBatch, (part) => ({ ...part, files: [] })),
  forged("a file is left out with its leaves", isBatch, (part) => ({ ...part, files: [], leaves: "" })),
  forged("the leaves of a file are in another order", hasTwoLeaves, (part) => ({
    ...part,
    leaves: joinHashes(splitHashes(part.leaves).toReversed()),
  })),
  forged("a file has another time", isBatch, (part) => ({
    ...part,
    files: part.files.map((file) => ({ ...file, first_at: file.first_at + 1 })),
  })),
  forged(
    "an erasure has another reason",
    ({ tenants: [part] }) => part?.records.some(({ kind }) => kind === "erasure_requested") === true,
    (part) => ({
      ...part,
      records: part.records.map((record) =>
        record.kind === "erasure_requested" ? { ...record, reason: "none" } : record,
      ),
    }),
  ),
  forged(
    "an erasure is left out",
    ({ tenants: [part] }) => part?.records.some(({ kind }) => kind === "erasure_requested") === true,
    (part) => ({ ...part, records: [] }),
  ),
  forged(
    "a merge loses a file",
    ({ tenants }) => tenants.some(({ removes }) => removes.length > 0),
    (part) => ({ ...part, files: [] }),
  ),
  forgedFile("a segment is left out", (segments) => {
    if (segments.length === 1) throw new NotApplicable("one segment");
    return segments.slice(1);
  }),
  forgedFile("a segment is of another time", ([first, ...rest]) => [
    { ...first, header: { ...first.header, last_at: first.header.last_at + 1 } },
    ...rest,
  ]),
  forgedFile("what is sealed is another", ([first, ...rest]) => [
    { ...first, sealed: first.sealed.map((byte, i) => (i === 0 ? byte ^ 1 : byte)) },
    ...rest,
  ]),
  {
    name: "forged: a stretch of the stream is said to have been skipped",
    apply: async (store) => {
      const commits = changed(await readCommits(store), isBatch, (commit) => {
        const lane = existing(commit.lane, "lane");
        return { ...commit, lane: { ...lane, skipped: [[lane.first, lane.first]] } };
      });
      await writeCommits(store, commits);
    },
  },
  {
    name: "forged: signed again with another key of the same name",
    apply: async (store) => signAgain(store, createNoteKey(await signerOf(store))),
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
        return { ...commit, tenants: [change(existing(first, "tenant")), ...rest] };
      });
      await writeCommits(store, commits);
    },
  };
}

/** A file is written anew, and the commit says so. */
function forgedFile(
  name: string,
  change: (segments: readonly [Segment, ...Segment[]]) => Segment[],
): Tampering {
  return {
    name: `forged: in a file ${name}`,
    async apply(store) {
      const live = new Set((await liveFiles(store)).map(({ key }) => key));
      const commits = await readCommits(store);
      const part = existing(
        partsOf(commits).find(({ files }) => live.has(files[0]?.key ?? "")),
        "files",
      );
      const file = existing(part.files[0], "files");
      const bytes = encodeSegmentFile(change(await readSegments(store, file.key)));
      await store.put(file.key, bytes);
      const entry = { ...file, sha256: sha256Hex(bytes), bytes: bytes.length };
      await writeCommits(
        store,
        commits.map((commit) => ({
          ...commit,
          tenants: commit.tenants.map((one) =>
            one === part ? { ...one, files: one.files.with(0, entry) } : one,
          ),
        })),
      );
    },
  };
}

interface LiveFile {
  readonly tenant: string;
  readonly key: string;
  readonly sha256: string;
}

/** Files that are part of the archive, oldest first. */
async function liveFiles(store: BlobStore): Promise<[LiveFile, ...LiveFile[]]> {
  const live = new Map<string, LiveFile>();
  for (const { tenants } of await readCommits(store)) {
    for (const { tenant, files, removes } of tenants) {
      for (const { key, sha256 } of files) live.set(key, { tenant, key, sha256 });
      for (const key of removes) live.delete(key);
    }
  }
  const [first, ...rest] = live.values();
  return [existing(first, "files"), ...rest];
}

async function signerOf(store: BlobStore): Promise<string> {
  const { checkpoint } = existing(partsOf(await readCommits(store))[0], "tenant");
  return existing(parseNote(checkpoint).signatures[0], "signature").name;
}

/** A commit that has one before it and one behind it. */
async function middle(store: BlobStore): Promise<number> {
  const { length } = await readCommits(store);
  if (length < 3) throw new NotApplicable(`${length} commits`);
  return Math.floor((length - 1) / 2);
}

async function keysOf(store: BlobStore, prefix: string): Promise<string[]> {
  if (prefix === "data/") return (await liveFiles(store)).map(({ key }) => key);
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

/** Parts of copies that are part of the archive. */
async function liveParts(store: BlobStore): Promise<string[]> {
  const keys = new Set<string>();
  for (const [tenant, records] of Map.groupBy(partsOf(await readCommits(store)), (part) => part.tenant)) {
    const live = liveCopies(records.flatMap((part) => part.records));
    for (const key of live.keys()) keys.add(`${tenant} ${key}`);
  }
  const parts: string[] = [];
  for await (const { key } of store.list(COPIES)) {
    const part = parsePartKey(key);
    if (part && keys.has(`${part.tenant} ${part.key}`)) parts.push(key);
  }
  return parts;
}

async function flip(store: BlobStore, key: string | undefined): Promise<void> {
  if (key === undefined) throw new NotApplicable("no such object");
  const bytes = await readObject(store, key);
  const middleAt = Math.floor(bytes.length / 2);
  await store.put(
    key,
    bytes.map((byte, i) => (i === middleAt ? byte ^ 1 : byte)),
  );
}

async function swap(store: BlobStore, a: string, b: string): Promise<void> {
  const [first, second] = [await readObject(store, a), await readObject(store, b)];
  await store.put(a, second);
  await store.put(b, first);
}
