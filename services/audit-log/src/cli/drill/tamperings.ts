import {
  ARCHIVE_TREE,
  type BlobStore,
  checkpointKey,
  type Commit,
  commitKey,
  createNoteKey,
  encodeSegmentFile,
  joinHashes,
  type Keyring,
  type NoteKey,
  parseNote,
  readSegmentFile,
  sha256Hex,
  SNAPSHOT_KEY,
  splitHashes,
  type TenantPart,
} from "@reprise/archive";
import { changed, NotApplicable, readCommits, signAgain, writeCommits } from "./forgery.ts";

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
    apply: async (store) => store.delete((await liveFiles(store))[0]!.key),
  },
  {
    name: "a file is cut short",
    apply: async (store) => {
      const { key } = (await liveFiles(store))[0]!;
      const bytes = (await store.get(key))!;
      await store.put(key, bytes.subarray(0, bytes.length - 1));
    },
  },
  {
    name: "two files are swapped",
    apply: async (store) => {
      const files = await liveFiles(store);
      const a = files[0]!;
      const b = files.find(({ sha256 }) => sha256 !== a.sha256);
      if (!b) throw new NotApplicable("one file");
      const [first, second] = [await store.get(a.key), await store.get(b.key)];
      await store.put(a.key, second!);
      await store.put(b.key, first!);
    },
  },
  {
    name: "another tenant's file is put in place of one",
    apply: async (store) => {
      const files = await liveFiles(store);
      const [mine] = files;
      const other = files.find(({ tenant }) => tenant !== mine!.tenant);
      if (!other) throw new NotApplicable("one tenant");
      await store.put(mine!.key, (await store.get(other.key))!);
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
      const [first, second] = [await store.get(commitKey(n)), await store.get(commitKey(n + 1))];
      await store.put(commitKey(n), second!);
      await store.put(commitKey(n + 1), first!);
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
    name: "a tenant's signed checkpoint is put in place of the archive's",
    apply: async (store) => {
      const part = (await readCommits(store)).flatMap(({ tenants }) => tenants).at(-1);
      if (!part) throw new NotApplicable("no tenant");
      await store.put(checkpointKey(ARCHIVE_TREE), Buffer.from(part.checkpoint));
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
      await writeCommits(store, commits.toSpliced(n, 2, commits[n + 1]!, commits[n]!));
    },
  },
  {
    name: "forged: a commit is there twice",
    apply: async (store) => {
      const commits = await readCommits(store);
      const n = await middle(store);
      await writeCommits(store, commits.toSpliced(n, 0, commits[n]!));
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
  forgedFile("a segment is left out", (segments) => {
    if (segments.length === 1) throw new NotApplicable("one segment");
    return segments.slice(1);
  }),
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
      const live = new Set((await liveFiles(store)).map(({ key }) => key));
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
async function liveFiles(store: BlobStore): Promise<LiveFile[]> {
  const live = new Map<string, LiveFile>();
  for (const { tenants } of await readCommits(store)) {
    for (const { tenant, files, removes } of tenants) {
      for (const { key, sha256 } of files) live.set(key, { tenant, key, sha256 });
      for (const key of removes) live.delete(key);
    }
  }
  if (live.size === 0) throw new NotApplicable("no files");
  return [...live.values()];
}

async function signerOf(store: BlobStore): Promise<string> {
  const [part] = (await readCommits(store)).flatMap(({ tenants }) => tenants);
  return parseNote(part!.checkpoint).signatures[0]!.name;
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

async function flip(store: BlobStore, key: string | undefined): Promise<void> {
  if (key === undefined) throw new NotApplicable("no such object");
  const bytes = Uint8Array.from((await store.get(key))!);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = bytes[at]! ^ 1;
  await store.put(key, bytes);
}
