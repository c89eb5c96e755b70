import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { MerkleTree } from "../merkle/merkle-tree.ts";
import { hashLeaf } from "../merkle/hash.ts";
import { type ArchiveFile, type Commit, fileSchema, type Lane, laneSchema } from "./commit.ts";
import { type ArchiveRecord, archiveRecordSchema, type BlobCopy, liveCopies } from "./record.ts";
import { sha256Hex, splitHashes } from "./hashes.ts";

/** A tenant's state after all commits up to one. */
interface TenantState {
  readonly files: Map<string, ArchiveFile>;
  readonly records: ArchiveRecord[];
  readonly tree: MerkleTree;
}

/** A tree whose leaves have become more, and its name. */
export interface GrownTree {
  readonly name: string;
  readonly tree: MerkleTree;
}

const NO_COMMIT = "0".repeat(64);

const treeSchema = z.unknown();
const snapshotSchema = z.strictObject({
  v: z.literal(1),
  next: z.int().min(0),
  head: z.string(),
  lanes: z.array(laneSchema),
  tenants: z.array(
    z.strictObject({
      tenant: z.string(),
      files: z.array(fileSchema),
      records: z.array(archiveRecordSchema),
      tree: treeSchema,
    }),
  ),
  tree: treeSchema,
  /** Not part of the state: a writer checks it before it uses the snapshot. */
  signed: z.string().optional(),
});

/** The state of an archive: the sum of its commits, applied in order. */
export class ArchiveState {
  #next = 0;
  #head = NO_COMMIT;
  readonly #lanes = new Map<string, Lane>();
  readonly #tenants = new Map<string, TenantState>();
  #tree = new MerkleTree();

  /** The number of the next commit. */
  get next(): number {
    return this.#next;
  }

  /** SHA-256 of the last commit, hex; 64 zeros before the first. */
  get headHash(): string {
    return this.#head;
  }

  /** The last commit of each stream. */
  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  /** The tree whose leaves are the commits. */
  get archiveTree(): MerkleTree {
    return this.#tree;
  }

  tenants(): string[] {
    return [...this.#tenants.keys()].toSorted();
  }

  /** Those that hold segments of the tenant now, oldest commit first. */
  files(tenant: string): ArchiveFile[] {
    return [...(this.#tenants.get(tenant)?.files.values() ?? [])];
  }

  hasFile(tenant: string, key: string): boolean {
    return this.#tenants.get(tenant)?.files.has(key) ?? false;
  }

  /** Returns the archive's own records about the tenant, oldest first. */
  records(tenant: string): readonly ArchiveRecord[] {
    return this.#tenants.get(tenant)?.records ?? [];
  }

  /** Legal holds that are not lifted. */
  holds(tenant: string): readonly Extract<ArchiveRecord, { kind: "hold_set" }>[] {
    return holdsAfter(this.records(tenant));
  }

  /** Returns the tenant's blobs that the archive holds, by key, oldest first. Computed by each call. */
  copies(tenant: string): ReadonlyMap<string, BlobCopy> {
    return liveCopies(this.records(tenant));
  }

  /** The tenant's tree; an empty one where the archive has nothing of it. */
  tree(tenant: string): MerkleTree {
    return this.#tenants.get(tenant)?.tree ?? new MerkleTree();
  }

  /**
   * Takes the next commit.
   * @param bytes the commit as it is stored
   * @returns the trees that have grown
   * @throws RepriseError `archive_corrupt` when it does not follow the one before
   */
  apply(commit: Commit, bytes: Uint8Array): GrownTree[] {
    if (commit.n !== this.#next || commit.prev !== this.#head) {
      throw new RepriseError(
        "archive_corrupt",
        `Commit ${commit.n} does not follow commit ${this.#next - 1} of the archive.`,
      );
    }
    if (commit.lane) this.#lanes.set(commit.lane.stream, commit.lane);
    const grown: GrownTree[] = [];
    for (const part of commit.tenants) {
      const { files, records, tree } = this.#tenant(part.tenant);
      for (const key of part.removes) files.delete(key);
      for (const file of part.files) files.set(file.key, file);
      records.push(...part.records);
      const leaves = splitHashes(part.leaves);
      for (const leaf of leaves) tree.append(leaf);
      if (leaves.length > 0) grown.push({ name: part.tenant, tree });
    }
    this.#tree.append(hashLeaf(bytes));
    this.#next = commit.n + 1;
    this.#head = sha256Hex(bytes);
    return grown;
  }

  toJSON(): unknown {
    const tenants = [...this.#tenants].map(([tenant, { files, records, tree }]) => ({
      tenant,
      files: [...files.values()],
      records,
      tree: tree.toJSON(),
    }));
    const lanes = [...this.#lanes.values()];
    return { v: 1, next: this.#next, head: this.#head, lanes, tenants, tree: this.#tree.toJSON() };
  }

  /** @throws RepriseError `archive_corrupt` */
  static of(json: unknown): ArchiveState {
    const parsed = snapshotSchema.safeParse(json);
    if (!parsed.success) throw new RepriseError("archive_corrupt", "The archive's snapshot is malformed.");
    const { next, head, lanes, tenants, tree } = parsed.data;
    const state = new ArchiveState();
    state.#next = next;
    state.#head = head;
    state.#tree = MerkleTree.of(tree);
    for (const lane of lanes) state.#lanes.set(lane.stream, lane);
    for (const { tenant, files, records, tree: edge } of tenants) {
      state.#tenants.set(tenant, {
        files: new Map(files.map((file) => [file.key, file])),
        records,
        tree: MerkleTree.of(edge),
      });
    }
    return state;
  }

  #tenant(name: string): TenantState {
    let tenant = this.#tenants.get(name);
    if (!tenant) {
      tenant = { files: new Map(), records: [], tree: new MerkleTree() };
      this.#tenants.set(name, tenant);
    }
    return tenant;
  }
}

type Hold = Extract<ArchiveRecord, { kind: "hold_set" }>;

/** Returns the legal holds in force after these records of a tenant, oldest first. */
function holdsAfter(records: readonly ArchiveRecord[]): Hold[] {
  const holds = new Map<string, Hold>();
  for (const record of records) {
    if (record.kind === "hold_set") holds.set(record.id, record);
    else if (record.kind === "hold_lifted") holds.delete(record.id);
  }
  return [...holds.values()];
}
