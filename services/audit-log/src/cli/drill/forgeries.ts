import {
  type ArchiveRecord,
  type BlobStore,
  type Commit,
  compareSegments,
  encodeArchiveRecord,
  encodeSegmentFile,
  hashLeaf,
  joinHashes,
  type Lane,
  parseNote,
  type Segment,
  sha256Hex,
  splitHashes,
  type TenantPart,
  toLeafData,
} from "@reprise/archive";
import {
  changed,
  existing,
  NotApplicable,
  partsOf,
  readCommits,
  readSegments,
  removedKeys,
  signAgain,
  writeCommits,
} from "./forgery.ts";
import type { DrillKeys, Tampering } from "./tamperings.ts";

/*
 * Ways to tamper with an archive that take more than its objects: other tenants' segments, invented records, and the archive's own
 * signing key. Against a holder of that key only a witness helps.
 */

const MERGES = ({ removes }: TenantPart) => removes.length > 0;
const BATCHES = ({ files, removes }: TenantPart) => files.length > 0 && removes.length === 0;
const ERASURE = ({ records }: TenantPart) => records.some(({ kind }) => kind === "erasure_requested");
const NOBODY = "1970-01-01T00:00:00.000Z";

export const FORGERIES: readonly Tampering[] = [
  inPart("files that were merged are part of the archive again", MERGES, (part) => ({
    ...part,
    removes: [],
  })),
  inPart("a checkpoint is not signed", BATCHES, (part) => ({
    ...part,
    checkpoint: `${parseNote(part.checkpoint).text}\n— somebody AAAAAAAA\n`,
  })),
  {
    name: "forged: a checkpoint is another tenant's",
    async apply(store) {
      const commits = await readCommits(store);
      const first = existing(partsOf(commits)[0], "tenant");
      const { checkpoint } = existing(
        partsOf(commits).find(({ tenant }) => tenant !== first.tenant),
        "other tenant",
      );
      const isFirst = (part: TenantPart) => part === first;
      await writeCommits(
        store,
        inFirst(commits, isFirst, (part) => ({ ...part, checkpoint })),
      );
    },
  },
  inFile("a segment is there twice", ([first, ...rest]) => [first, ...rest, first]),
  inFile("a segment of another tenant is spliced in", (segments, [other]) => {
    if (!other) throw new NotApplicable("one tenant");
    return [...segments, other];
  }),
  inFile("two segments have changed what is sealed in them", ([first, second, ...rest]) => {
    if (!second) throw new NotApplicable("one segment");
    return [{ ...first, sealed: second.sealed }, { ...second, sealed: first.sealed }, ...rest];
  }),
  added("a record is invented", ({ tenant }) => {
    const record = { kind: "hold_set", at: NOBODY, id: "hold_1", by: "nobody", reason: "none" } as const;
    return { ...EMPTY, leaves: joinHashes([leafOf(tenant, record)]), records: [record] };
  }),
  added("a file's time is said to be over", ({ tenant, files }) => {
    const gone = files.map(({ key, sha256, segments, events }) => ({ key, sha256, segments, events }));
    const record = { kind: "retention_deleted" as const, at: NOBODY, day: "1970-01-01", files: gone };
    const leaves = joinHashes([leafOf(tenant, record)]);
    return { ...EMPTY, leaves, records: [record], removes: files.map(({ key }) => key) };
  }),
  {
    name: "forged: an unsigned commit is added",
    async apply(store) {
      const commits = await readCommits(store);
      await writeCommits(store, [...commits, { ...lastWithoutLane(commits), tenants: [] }]);
    },
  },
  inside("an erasure has another reason", (commits) =>
    inFirst(commits, ERASURE, (part) => {
      const records = part.records.map((record) =>
        record.kind === "erasure_requested" ? { ...record, reason: "another" } : record,
      );
      const leaves = splitHashes(part.leaves).slice(0, -records.length);
      const recordLeaves = records.map((record) => leafOf(part.tenant, record));
      return { ...part, records, leaves: joinHashes([...leaves, ...recordLeaves]) };
    }),
  ),
  inside("the last commits were never made", (commits) => {
    if (commits.length < 2) throw new NotApplicable("one commit");
    return commits.slice(0, -1);
  }),
  inside("the last batch is said to have been lost", (commits) => {
    const at = commits.findLastIndex(({ lane, tenants }) => lane !== undefined && tenants.some(BATCHES));
    const { lane, ...commit } = commits[at] ?? {};
    if (!lane) throw new NotApplicable("no batch");
    const lost = { ...lane, events: 0, skipped: [], gaps: [[lane.first, lane.last]] satisfies Lane["gaps"] };
    return commits.with(at, { ...(commit as Commit), lane: lost, tenants: [] });
  }),
];

/** Of an archive that has lost something, and says so. */
export const HIDDEN_GAP: Tampering = {
  name: "forged: a gap is said to have been skipped lawfully",
  async apply(store) {
    const commits = changed(
      await readCommits(store),
      ({ lane }) => (lane?.gaps.length ?? 0) > 0,
      (commit) => {
        const lane = existing(commit.lane, "lane");
        return { ...commit, lane: { ...lane, gaps: [], skipped: [...lane.skipped, ...lane.gaps] } };
      },
    );
    await writeCommits(store, commits);
  },
};

const EMPTY = { leaves: "", files: [], removes: [], records: [] };

function leafOf(tenant: string, record: ArchiveRecord): Uint8Array {
  return hashLeaf(toLeafData(encodeArchiveRecord(tenant, record), new Uint8Array()));
}

/** What a commit without events of its own begins with. */
function lastWithoutLane(commits: readonly Commit[]): Omit<Commit, "lane"> {
  const { lane: _, ...last } = existing(commits.at(-1), "commit");
  return last;
}

/** The first part of a tenant that is of the kind says something else. */
function inFirst(
  commits: readonly Commit[],
  which: (part: TenantPart) => boolean,
  change: (part: TenantPart) => TenantPart,
): Commit[] {
  return changed(
    commits,
    ({ tenants }) => tenants.some(which),
    (commit) => {
      const at = commit.tenants.findIndex(which);
      return { ...commit, tenants: commit.tenants.map((part, i) => (i === at ? change(part) : part)) };
    },
  );
}

function inPart(
  name: string,
  which: (part: TenantPart) => boolean,
  change: (part: TenantPart) => TenantPart,
): Tampering {
  return {
    name: `forged: ${name}`,
    apply: async (store) => writeCommits(store, inFirst(await readCommits(store), which, change)),
  };
}

/** A commit is added about the first batch of a tenant. Its checkpoint is one that was signed. */
function added(
  name: string,
  make: (part: TenantPart) => Omit<TenantPart, "tenant" | "checkpoint">,
): Tampering {
  return {
    name: `forged: ${name}`,
    async apply(store) {
      const commits = await readCommits(store);
      const parts = partsOf(commits);
      const removed = removedKeys(commits);
      const part = existing(
        parts.find((one) => BATCHES(one) && one.files.every(({ key }) => !removed.has(key))),
        "files",
      );
      const { tenant } = part;
      const { checkpoint } = parts.findLast((one) => one.tenant === tenant) ?? part;
      const tenants = [{ ...make(part), tenant, checkpoint }];
      await writeCommits(store, [...commits, { ...lastWithoutLane(commits), n: commits.length, tenants }]);
    },
  };
}

/** A file is written anew, and its commit says so. @param change gets its segments, and some of another tenant if there is one */
function inFile(
  name: string,
  change: (segments: readonly [Segment, ...Segment[]], others: readonly Segment[]) => Segment[],
): Tampering {
  return {
    name: `forged: in a file ${name}`,
    async apply(store) {
      const commits = await readCommits(store);
      const removed = removedKeys(commits);
      const parts = partsOf(commits).filter(({ files }) => files.some(({ key }) => !removed.has(key)));
      const of = existing(parts[0], "files");
      const file = existing(
        of.files.find(({ key }) => !removed.has(key)),
        "files",
      );
      const other = parts.find(({ tenant }) => tenant !== of.tenant)?.files[0];
      const others = other ? await readSegments(store, other.key) : [];
      const forged = change(await readSegments(store, file.key), others).toSorted(compareSegments);
      const bytes = encodeSegmentFile(forged);
      await store.put(file.key, bytes);
      const entry = {
        ...file,
        sha256: sha256Hex(bytes),
        bytes: bytes.length,
        segments: forged.length,
        events: forged.reduce((sum, { header }) => sum + header.events, 0),
      };
      const isOf = (part: TenantPart) => part.files.includes(file);
      await writeCommits(
        store,
        inFirst(commits, isOf, (part) => ({
          ...part,
          files: part.files.map((one) => (one === file ? entry : one)),
        })),
      );
    },
  };
}

/** A holder of the signing key has changed the past, and signed all of it again. */
function inside(name: string, change: (commits: readonly Commit[]) => Commit[]): Tampering {
  return {
    name: `with the signing key: ${name}`,
    async apply(store: BlobStore, { signer }: DrillKeys = {}) {
      if (!signer) throw new NotApplicable("the signing key is not at hand");
      await writeCommits(store, change(await readCommits(store)));
      await signAgain(store, signer);
      for await (const { key } of store.list("tile/")) await store.delete(key);
    },
  };
}
