import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { checkCopy, checkCopyKey } from "./copies.ts";
import { type Json, readSegments, sum } from "./files.ts";
import { must, openCheckpoint } from "./notes.ts";
import { openIndependently } from "./segments.ts";
import { hashLeaf, rootOf, toLeafData } from "./tree.ts";

/*
 * A verifier written from packages/archive/FORMAT.md, sharing no code with what writes archives, nor with what verifies them elsewhere: DuckDB reads the Parquet files,
 * node:crypto hashes, roots are computed recursively over all leaves. Numbers in comments are the page's.
 */

export type IndependentVerdict = "fine" | "tampered" | "gap" | "unknown";

interface Options {
  /** The archive's folder, and its name. */
  readonly dir: string;
  readonly name: string;
  /** The archive's keys, as text. */
  readonly vkeys: readonly string[];
  /** A checkpoint that was kept outside the archive. */
  readonly kept?: string;
  /** Gives the key of a segment, unless it was destroyed. Without it nothing is opened. */
  readonly keyOf?: (header: { tenant: string; kid: string }) => Uint8Array | undefined;
}

interface Tree {
  readonly leaves: Buffer[];
  readonly ofSegments: Set<string>;
  readonly files: Map<string, Json>;
  readonly erased: Set<string>;
  readonly copies: Map<string, Json>;
  readonly destroyed: Set<string>;
  deletedSegments: number;
}

const RECORD_FIELDS =
  "kind at id by reason tag generation generations purged kids day files blob key parts bytes sha256 kid commitment salt keys".split(
    " ",
  );

export async function verifyIndependently(
  options: Options,
): Promise<{ verdict: IndependentVerdict; because: string }> {
  try {
    return await new Verification(options).run();
  } catch (error) {
    // What cannot be decoded was changed.
    return { verdict: "tampered", because: (error as Error).message };
  }
}

class Verification {
  readonly #options: Options;
  readonly #trees = new Map<string, Tree>();
  readonly #commits: Buffer[] = [];
  readonly #lanes = new Map<string, Json>();
  readonly #lossy = new Set<string>();
  #gaps = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  async run(): Promise<{ verdict: IndependentVerdict; because: string }> {
    const { dir, vkeys, kept } = this.#options;
    while (existsSync(this.#commitPath(this.#commits.length)))
      this.#takeCommit(readFileSync(this.#commitPath(this.#commits.length)));
    const logs = join(dir, "_log");
    const numbers = (existsSync(logs) ? readdirSync(logs, { recursive: true, encoding: "utf8" }) : [])
      .map((path) => /(\d{10})\.json$/.exec(path)?.[1])
      .filter((number) => number !== undefined);
    must(
      numbers.every((number) => Number(number) < this.#commits.length),
      "3.2: a commit is missing",
    );
    for (const tree of [...this.#trees.keys(), ".archive"]) this.#checkTiles(tree);
    const own = join(dir, "checkpoint/.archive");
    const notes = [...(existsSync(own) ? [readFileSync(own, "utf8")] : []), ...(kept ? [kept] : [])];
    const sizes = notes.map((note) => this.#checkKept(note));
    const holes = await this.#checkFiles();
    if (vkeys.length === 0 || this.#commits.length === 0) return { verdict: "unknown", because: "no key" };
    if (Math.max(0, ...sizes) < this.#commits.length) return { verdict: "unknown", because: "6.3" };
    if (this.#gaps > 0 || holes) return { verdict: "gap", because: "3.3, 4.4" };
    return { verdict: "fine", because: "" };
  }

  #commitPath(n: number): string {
    const folder = String(Math.floor(n / 10_000)).padStart(6, "0");
    return join(this.#options.dir, "_log", folder, `${String(n).padStart(10, "0")}.json`);
  }

  #takeCommit(bytes: Buffer): void {
    const commit: Json = JSON.parse(bytes.toString());
    const before = this.#commits.at(-1);
    must(commit.v === 1 && commit.n === this.#commits.length, "3.1: n");
    must(commit.prev === (before ? hash("sha256", before, "hex") : "0".repeat(64)), "3.1: prev");
    this.#checkSignature(bytes, commit);
    if (commit.lane) this.#checkLane(commit);
    const names: string[] = commit.tenants.map(({ tenant }: Json) => tenant);
    must(
      names.every((name, i) => /^[A-Za-z0-9_-]+$/.test(name) && (names[i - 1] ?? "") < name),
      "3.1: tenants",
    );
    for (const part of commit.tenants) this.#takePart(part);
    this.#commits.push(bytes);
  }

  #checkSignature(bytes: Buffer, { n, signed }: Json): void {
    const { origin, size, root } = openCheckpoint(signed, this.#options.vkeys);
    const field = `,"signed":${JSON.stringify(signed)}}`;
    must(bytes.toString().endsWith(field), "3.7: the last field");
    const body = `${bytes.toString().slice(0, -field.length)}}`;
    must(origin === `${this.#options.name}/.commit` && size === n, "3.7: of another");
    must(root.equals(hash("sha256", body, "buffer")), "3.7: hash");
  }

  #checkLane({ lane, tenants }: Json): void {
    const { stream, epoch, created, first, last, events, gaps, skipped } = lane;
    const before = this.#lanes.get(stream);
    if (!before) must(epoch === 0 && first === 1, "3.3: first");
    else if (epoch === before.epoch)
      must(first === before.last + 1 && created === before.created, "3.3: stretch");
    else {
      must(epoch === before.epoch + 1, "3.3: epoch");
      must(
        created === before.created ? first >= 1 && first <= before.last + 1 : first === 1,
        "3.3: goes back",
      );
    }
    const places = new Set<number>();
    for (const [from, to] of [...gaps, ...skipped]) {
      must(from >= first && to <= last && from <= to, "3.3: within");
      for (let place = from; place <= to; place++) {
        must(!places.has(place), "3.3: apart");
        places.add(place);
      }
    }
    must(events + places.size === last - first + 1, "3.3: every place");
    const filed = tenants.flatMap((part: Json) => part.files).map((file: Json) => file.events);
    must(sum(filed) === events, "3.3: files");
    this.#lanes.set(stream, lane);
    this.#gaps += gaps.length;
    if (gaps.length > 0 || epoch > 0) this.#lossy.add(stream);
  }

  #takePart({ tenant, leaves, files, removes, records, checkpoint }: Json): void {
    const tree = this.#tree(tenant);
    const hashes = split(Buffer.from(leaves, "base64"));
    const ofSegments = hashes.slice(0, hashes.length - records.length);
    const gone = removes.map((key: string) => tree.files.get(key));
    must(!gone.includes(undefined), "3.4: removes");
    const count = (of: Json[], field: string) => sum(of.map((file) => file[field]));
    if (removes.length > 0 && files.length > 0) {
      must(ofSegments.length === 0, "3.5: a merge has no leaves");
      must(count(gone, "segments") === count(files, "segments"), "3.5: merged segments");
      must(count(gone, "events") === count(files, "events"), "3.5: merged events");
    } else must(ofSegments.length === count(files, "segments"), "3.4: leaves");
    if (removes.length > 0 && files.length === 0) {
      const named = records
        .filter((record: Json) => record.kind === "retention_deleted")
        .flatMap((record: Json) => record.files);
      for (const file of gone)
        must(
          named.some((one: Json) => one.key === file.key && one.sha256 === file.sha256),
          "3.5: no record says why",
        );
      tree.deletedSegments += count(gone, "segments");
    }
    for (const leaf of ofSegments.map((one) => one.toString("hex"))) {
      must(!tree.ofSegments.has(leaf), "3.6: twice");
      tree.ofSegments.add(leaf);
    }
    for (const [i, record] of records.entries()) {
      const ordered = RECORD_FIELDS.filter((field) => field in record).map((field) => [field, record[field]]);
      const json = JSON.stringify({ v: 1, record: tenant, ...Object.fromEntries(ordered) });
      const leaf = hashLeaf(toLeafData(Buffer.from(json), Buffer.alloc(0)));
      must(leaf.equals(hashes[ofSegments.length + i] ?? Buffer.alloc(0)), "5.3: record");
      if (record.kind === "erasure_requested") for (const id of record.generations) tree.erased.add(id);
      if (record.kind === "key_destroyed") for (const kid of record.kids) tree.destroyed.add(kid);
      if (record.kind === "copies_deleted")
        for (const key of record.keys) must(tree.copies.delete(key), "13.2: removed twice");
      if (record.kind === "blob_missed" && record.reason !== "erased") this.#gaps++;
      if (record.kind !== "blob_copied") continue;
      checkCopyKey(tenant, record);
      must(!tree.copies.has(record.key), "13.2: twice");
      tree.copies.set(record.key, record);
    }
    for (const key of removes) tree.files.delete(key);
    for (const file of files) tree.files.set(file.key, file);
    tree.leaves.push(...hashes);
    const { origin, size, root } = openCheckpoint(checkpoint, this.#options.vkeys);
    must(origin === `${this.#options.name}/${tenant}` && size === tree.leaves.length, "6.3: size");
    must(root.equals(rootOf(tree.leaves)), "6.3: root");
  }

  #tree(tenant: string): Tree {
    let tree = this.#trees.get(tenant);
    if (!tree) {
      tree = {
        leaves: [],
        ofSegments: new Set(),
        files: new Map(),
        erased: new Set(),
        copies: new Map(),
        destroyed: new Set(),
        deletedSegments: 0,
      };
      this.#trees.set(tenant, tree);
    }
    return tree;
  }

  #leavesOf(tree: string): Buffer[] {
    return tree === ".archive" ? this.#commits.map(hashLeaf) : this.#tree(tree).leaves;
  }

  /** §2, §9: a snapshot is not looked at, because nothing follows from it. */
  #checkTiles(tree: string): void {
    let hashes = this.#leavesOf(tree);
    for (let level = 0; hashes.length >= 256; level++) {
      const above: Buffer[] = [];
      for (let index = 0; (index + 1) * 256 <= hashes.length; index++) {
        const tile = hashes.slice(index * 256, (index + 1) * 256);
        const groups = String(index)
          .padStart(3 * Math.ceil(String(index).length / 3), "0")
          .match(/.{3}/g)!;
        const name = groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join("/");
        const path = join(this.#options.dir, "tile", tree, String(level), name);
        if (existsSync(path)) must(readFileSync(path).equals(Buffer.concat(tile)), "2: tile");
        above.push(rootOf(tile));
      }
      hashes = above;
    }
  }

  /** 6.3, 7.2. @returns how many commits it is of */
  #checkKept(note: string): number {
    const { origin, size, root } = openCheckpoint(note, this.#options.vkeys);
    const leaves = this.#leavesOf(".archive");
    must(origin === `${this.#options.name}/.archive`, "6.3: origin");
    must(size <= leaves.length, "7.2: the end is cut off");
    must(root.equals(rootOf(leaves.slice(0, size))), "7.2: another history");
    return size;
  }

  /** 3.6, §4, §11. @returns whether a log has a hole that nothing explains */
  async #checkFiles(): Promise<boolean> {
    const database = await DuckDBInstance.create(":memory:");
    const connection = await database.connect();
    let hasHoles = false;
    for (const [tenant, tree] of this.#trees) {
      const left = new Set(tree.ofSegments);
      const logs = new Map<string, Json[]>();
      for (const file of tree.files.values()) {
        for (const { header, text, sealed, leaf } of await readSegments(
          connection,
          join(this.#options.dir, file.key),
          file,
        )) {
          must(left.delete(leaf.toString("hex")), "3.6: a segment is no leaf");
          const key = this.#options.keyOf?.(header);
          if (key) openIndependently(text, sealed, key);
          const { tenant: of, kind, generation } = header;
          must(of === tenant && file.key.startsWith(`data/tenant=${tenant}/`), "4.3: tenant");
          if (kind === "log") logs.set(generation, [...(logs.get(generation) ?? []), header]);
        }
      }
      must(left.size === tree.deletedSegments, "3.6: a leaf has no segment");
      for (const copy of tree.copies.values())
        if (!tree.destroyed.has(copy.kid))
          checkCopy(this.#options.dir, copy, this.#options.keyOf?.({ tenant, kid: copy.kid }));
      for (const [generation, parts] of logs) {
        const isExplained =
          tree.erased.has(generation) || tree.deletedSegments > 0 || this.#lossy.has(parts[0].stream);
        let next = 0;
        for (const { first_seq, last_seq } of parts.toSorted((a, b) => a.first_seq - b.first_seq)) {
          if (first_seq > next && !isExplained) hasHoles = true;
          next = Math.max(next, last_seq + 1);
        }
      }
    }
    connection.closeSync();
    return hasHoles;
  }
}

function split(bytes: Buffer): Buffer[] {
  must(bytes.length % 32 === 0, "3.4: leaves");
  return Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(32 * i, 32 * (i + 1)));
}
