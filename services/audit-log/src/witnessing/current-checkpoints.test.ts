import {
  ARCHIVE_TREE,
  checkpointKey,
  commitKey,
  cosignedKey,
  createNoteKey,
  hashLeaf,
  openArchive,
} from "@reprise/archive";
import { createMemoryStore } from "@reprise/archive/testing";
import { describe, expect, it } from "vitest";
import { SIGNING_SEED } from "../testing/test-keys.ts";
import { CosignedNotes } from "./cosigned-notes.ts";
import { CurrentCheckpoints } from "./current-checkpoints.ts";
import { archiveCheckpoint, newestCheckpoints } from "./signed-checkpoints.ts";

const LINE = "— witness AAAAAAAA\n";

async function openGrowing() {
  const store = createMemoryStore();
  const read: string[] = [];
  const counting = {
    ...store,
    async get(...args: Parameters<typeof store.get>) {
      read.push(args[0]);
      return store.get(...args);
    },
  };
  const open = (name: string) =>
    openArchive({
      store: counting,
      name: "test",
      writer: {
        name,
        signer: createNoteKey("test", SIGNING_SEED),
        onError: (error) => expect.unreachable(String(error)),
      },
    });
  const archive = await open("one");
  let leaves = 0;
  return {
    archive,
    open,
    read,
    grow: async (tenant: string, of = archive) => {
      const leaf = hashLeaf(Buffer.from(String(leaves++)));
      await of.append(() => ({ tenants: [{ tenant, leaves: [leaf], files: [], removes: [], records: [] }] }));
    },
    /** Adds a cosignature of a witness to the newest checkpoint of a tree. */
    cosign: async (tree: string) => {
      const checkpoint =
        tree === ARCHIVE_TREE
          ? await archiveCheckpoint(archive)
          : (await newestCheckpoints(archive, [tree])).get(tree);
      await new CosignedNotes(archive.store).add(tree, checkpoint!, "http://witness", LINE);
    },
  };
}

async function sizesOf(current: CurrentCheckpoints): Promise<[string, number][]> {
  return [...(await current.refresh())].map(([tree, { size }]) => [tree, size]);
}

describe("what witnesses should see", () => {
  it("is nothing of an archive without commits", async () => {
    const { archive } = await openGrowing();
    expect(await sizesOf(new CurrentCheckpoints(archive))).toEqual([]);
  });

  it("is, after a start, the archive's own tree and what has grown since it was cosigned", async () => {
    const { archive, grow, cosign } = await openGrowing();
    for (const tenant of ["acme", "beta", "gamma", "beta"]) await grow(tenant);
    await cosign("acme");
    await cosign("beta");
    await grow("beta");
    expect(await sizesOf(new CurrentCheckpoints(archive))).toEqual([
      [ARCHIVE_TREE, 5],
      ["beta", 3],
      ["gamma", 1],
    ]);
  });

  it("is then read from new commits alone", async () => {
    const { archive, grow, cosign, read } = await openGrowing();
    for (let i = 0; i < 20; i++) await grow("acme");
    await cosign("acme");
    const current = new CurrentCheckpoints(archive);
    await current.refresh();
    read.splice(0);
    expect(await sizesOf(current)).toEqual([[ARCHIVE_TREE, 20]]);
    expect(read).toEqual([]);
    await grow("acme");
    expect(await sizesOf(current)).toEqual([
      [ARCHIVE_TREE, 21],
      ["acme", 21],
    ]);
    expect(read.filter((key) => key.startsWith("_log/"))).not.toContain(commitKey(19));
  });

  it("stays within what the process has read, for which it has proofs, while others commit", async () => {
    const { archive, open, grow } = await openGrowing();
    await grow("acme");
    const current = new CurrentCheckpoints(archive);
    await current.refresh();
    const other = await open("other");
    await grow("acme", other);
    await archive.refresh();
    await grow("beta", other);
    expect(await sizesOf(current)).toEqual([
      [ARCHIVE_TREE, 1],
      ["acme", 2],
    ]);
    await archive.refresh();
    expect(await sizesOf(current)).toEqual([
      [ARCHIVE_TREE, 3],
      ["acme", 2],
      ["beta", 1],
    ]);
  });

  it("does not depend on damaged cosigned checkpoints, and does on commits", async () => {
    const { archive, grow } = await openGrowing();
    await grow("acme");
    await archive.store.put(cosignedKey("acme"), Buffer.from("spoilt"));
    expect(await sizesOf(new CurrentCheckpoints(archive))).toContainEqual(["acme", 1]);
    await archive.store.delete(commitKey(0));
    await expect(new CurrentCheckpoints(archive).refresh()).rejects.toMatchObject({
      code: "archive_corrupt",
    });
    await archive.store.put(checkpointKey(ARCHIVE_TREE), Buffer.from("spoilt"));
    await expect(new CurrentCheckpoints(archive).refresh()).rejects.toMatchObject({
      code: "archive_corrupt",
    });
  });
});

describe("cosigned checkpoints", () => {
  it("keep the lines of all witnesses of one, and no older one than they have", async () => {
    const { archive, grow } = await openGrowing();
    await grow("acme");
    const older = (await newestCheckpoints(archive, ["acme"])).get("acme")!;
    await grow("acme");
    const newer = (await newestCheckpoints(archive, ["acme"])).get("acme")!;
    const notes = new CosignedNotes(archive.store);
    const stored = async () => Buffer.from((await archive.store.get(cosignedKey("acme")))!).toString();
    await Promise.all([
      notes.add("acme", older, "http://a", LINE),
      notes.add("acme", older, "http://b", LINE.replace("witness", "other")),
      notes.add("acme", older, "http://a", LINE),
    ]);
    expect(await stored()).toBe(`${older.note}${LINE}— other AAAAAAAA\n`);
    await notes.add("acme", newer, "http://b", LINE);
    await notes.add("acme", older, "http://a", LINE);
    expect(await stored()).toBe(`${newer.note}${LINE}`);
  });
});
