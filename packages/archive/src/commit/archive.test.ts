import { describe, expect, it } from "vitest";
import { MerkleTree } from "../merkle/merkle-tree.ts";
import { hashLeaf } from "../merkle/hash.ts";
import { parseCheckpoint } from "../note/checkpoint.ts";
import { openNote } from "../note/signed-note.ts";
import { createFaultyStore, type FaultPlan } from "../testing/faulty-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { openArchive } from "./archive.ts";
import { ARCHIVE_TREE } from "./commit.ts";
import { hold, NAME, nextOf, openWriter, signer, stretch } from "./lanes.fixture.ts";
import { checkpointKey, commitKey, SNAPSHOT_KEY, tileKey } from "../store/paths.ts";

/** More than a tile has leaves, and than commits lie between snapshots. */
const MANY = 300;

describe("two that write one archive", () => {
  it("get one number each: the second continues after the first", async () => {
    const store = createMemoryStore();
    const [first, second] = [await openWriter(store, "first"), await openWriter(store, "second")];
    await first.archive.append(() => hold("1"));
    const seen: number[] = [];
    const outcome = await second.archive.append((state) => {
      seen.push(state.next);
      return hold("2");
    });
    expect(seen).toEqual([0, 1]);
    expect(outcome).toMatchObject({
      kind: "committed",
      commit: { n: 1, prev: first.archive.state.headHash },
    });
    expect(second.archive.state.tree("acme").size).toBe(2);
  });

  it("archive different streams at the same time", async () => {
    const store = createMemoryStore();
    const writers = [await openWriter(store, "a"), await openWriter(store, "b")];
    const outcomes = await Promise.all(
      writers.flatMap(({ archive }, i) =>
        [1, 2, 3].map((place) => archive.append(() => stretch(`GENERATIONS_${i}`, place))),
      ),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => "committed"));
    const reader = await openArchive({ store, name: NAME });
    expect([...reader.state.lanes.values()].map(({ last }) => last)).toEqual([3, 3]);
  });

  it("do not archive the same range twice: the second is fenced", async () => {
    const store = createMemoryStore();
    const [first, second] = [await openWriter(store), await openWriter(store)];
    await first.archive.append(() => stretch("OPS", 1, 9));
    expect(await second.archive.append(() => stretch("OPS", 1, 5))).toEqual({ kind: "fenced" });
    expect(await second.archive.append(() => stretch("OPS", 10))).toMatchObject({ kind: "committed" });
  });

  it("do not remove the same file twice: the second is fenced", async () => {
    const store = createMemoryStore();
    const [first, second] = [await openWriter(store), await openWriter(store)];
    const file = {
      key: "data/x.parquet",
      sha256: "0".repeat(64),
      bytes: 1,
      segments: 1,
      events: 1,
      first_at: 1,
      last_at: 1,
      generations: "",
    };
    const part = {
      tenant: "acme",
      leaves: [hashLeaf(Buffer.from("x"))],
      files: [file],
      removes: [],
      records: [],
    };
    await first.archive.append(() => ({ tenants: [part] }));
    await second.archive.refresh();
    const removal = { tenants: [{ ...part, leaves: [], files: [], removes: [file.key] }] };
    expect(await first.archive.append(() => removal)).toMatchObject({ kind: "committed" });
    expect(await second.archive.append(() => removal)).toEqual({ kind: "fenced" });
    expect(second.archive.state.files("acme")).toEqual([]);
  });

  it("may give up when they see what the other has done", async () => {
    const store = createMemoryStore();
    const [first, second] = [await openWriter(store), await openWriter(store)];
    await first.archive.append(() => hold("1"));
    const outcome = await second.archive.append(({ next }) => (next === 0 ? hold("2") : undefined));
    expect(outcome).toEqual({ kind: "fenced" });
    expect(second.archive.state.next).toBe(1);
  });
});

describe("a store that fails while a commit is made", () => {
  const failOnce = (method: string, fault: "before" | "after"): FaultPlan => {
    let isOver = false;
    return (call) => {
      if (isOver || call.method !== method) return undefined;
      isOver = true;
      return fault;
    };
  };

  it.each(["before", "after"] as const)("%s it has happened: it is made once", async (fault) => {
    const store = createMemoryStore();
    const { archive, errors } = await openWriter(createFaultyStore(store, failOnce("create", fault)));
    expect(await archive.append(() => stretch("OPS", 1))).toMatchObject({
      kind: "committed",
      commit: { n: 0 },
    });
    expect(await archive.append(() => stretch("OPS", 2))).toMatchObject({
      kind: "committed",
      commit: { n: 1 },
    });
    expect(errors).toHaveLength(1);
    expect(await (await openWriter(store)).archive.append(() => stretch("OPS", 3))).toMatchObject({
      kind: "committed",
      commit: { n: 2 },
    });
  });

  it("and another takes its number meanwhile: it continues after the other", async () => {
    const store = createMemoryStore();
    const other = await openWriter(store, "other");
    let isAway = true;
    const plan: FaultPlan = ({ method }) => (isAway && method === "create" ? "before" : undefined);
    const { archive, errors } = await openWriter(createFaultyStore(store, plan));
    const outcome = archive.append((state) => nextOf(state, "OPS"));
    await expect.poll(() => errors.length).toBeGreaterThan(0);
    await other.archive.append((state) => nextOf(state, "OPS"));
    isAway = false;
    expect(await outcome).toMatchObject({ kind: "committed", commit: { n: 1, lane: { first: 2 } } });
  });

  it("after it has happened, and another continues after it: it knows its own commit again", async () => {
    const store = createMemoryStore();
    const other = await openWriter(store, "other");
    let isAway = true;
    const plan: FaultPlan = ({ method }) => (isAway && method === "create" ? "after" : undefined);
    const { archive, errors } = await openWriter(createFaultyStore(store, plan));
    const outcome = archive.append(() => stretch("OPS", 1));
    await expect.poll(() => errors.length).toBeGreaterThan(0);
    await other.archive.append((state) => nextOf(state, "OPS"));
    isAway = false;
    expect(await outcome).toMatchObject({ kind: "committed", commit: { n: 0 } });
    expect(await archive.append((state) => nextOf(state, "OPS"))).toMatchObject({
      kind: "committed",
      commit: { n: 2, lane: { first: 3 } },
    });
  });

  it("is waited for no longer when its signal aborts", async () => {
    const { archive } = await openWriter(
      createFaultyStore(createMemoryStore(), ({ method }) => (method === "create" ? "before" : undefined)),
    );
    const signal = AbortSignal.timeout(10);
    await expect(archive.append(() => hold("1"), { signal })).rejects.toThrow();
    expect(archive.state.next).toBe(0);
  });

  it("is waited for no longer when the archive is closed, for any commit", async () => {
    const { archive, errors } = await openWriter(
      createFaultyStore(createMemoryStore(), ({ method }) => (method === "create" ? "before" : undefined)),
    );
    const outcomes = Promise.allSettled([archive.append(() => hold("1")), archive.append(() => hold("2"))]);
    await expect.poll(() => errors.length).toBeGreaterThan(0);
    archive.close();
    const closed = { status: "rejected", reason: { code: "archive_unavailable" } };
    expect(await outcomes).toMatchObject([closed, closed]);
    await expect(archive.append(() => hold("3"))).rejects.toMatchObject({ code: "archive_unavailable" });
  });

  it("only after it: the commit is made, and what derives from it is missing", async () => {
    const store = createMemoryStore();
    const { archive, errors } = await openWriter(
      createFaultyStore(store, ({ method }) => (method === "put" ? "before" : undefined)),
    );
    for (let n = 0; n < MANY; n++) await archive.append(() => hold(`${n}`));
    expect(errors.length).toBeGreaterThan(MANY);
    expect(await store.get(checkpointKey(ARCHIVE_TREE))).toBeUndefined();
    expect((await openArchive({ store, name: NAME })).state).toEqual(archive.state);
  });
});

describe("after many commits", () => {
  it("tiles, checkpoint and snapshot are those of the commits", async () => {
    const store = createMemoryStore();
    const { archive } = await openWriter(store);
    const tree = new MerkleTree();
    for (let n = 0; n < MANY; n++) {
      await archive.append(() => hold(`${n}`));
      tree.append(hashLeaf((await store.get(commitKey(n)))!));
    }
    const { text, verified } = openNote(
      String(Buffer.from((await store.get(checkpointKey(ARCHIVE_TREE)))!)),
      [signer],
    );
    expect(verified).toEqual([signer]);
    expect(parseCheckpoint(text)).toEqual({
      origin: `${NAME}/${ARCHIVE_TREE}`,
      size: MANY,
      root: Buffer.from(tree.root()),
    });
    const [tile] = tree.takeFullTiles();
    expect(Buffer.from((await store.get(tileKey(ARCHIVE_TREE, 0, 0)))!)).toEqual(tile!.bytes);
    expect(await store.get(tileKey("acme", 0, 0))).toHaveLength(8_192);
    const snapshot = JSON.parse(Buffer.from((await store.get(SNAPSHOT_KEY))!).toString()) as { next: number };
    expect(snapshot.next).toBeGreaterThanOrEqual(64);
  });

  it.each<[string, (snapshot: Uint8Array) => Uint8Array | undefined]>([
    ["as it is", (snapshot) => snapshot],
    ["that is missing", () => undefined],
    ["that is cut short", (snapshot) => snapshot.subarray(0, snapshot.length / 2)],
    ["that is no JSON", () => Buffer.from("snapshot")],
    [
      "of a later version",
      (snapshot) => Buffer.from(String(Buffer.from(snapshot)).replace('"v":1', '"v":2')),
    ],
  ])("the archive is the same with a snapshot %s", async (_, change) => {
    const store = createMemoryStore();
    const { archive } = await openWriter(store);
    for (let n = 0; n < 100; n++) await archive.append((state) => nextOf(state, `GENERATIONS_${n % 3}`));
    const snapshot = change((await store.get(SNAPSHOT_KEY))!);
    await store.delete(SNAPSHOT_KEY);
    if (snapshot) await store.put(SNAPSHOT_KEY, snapshot);
    const reopened = await openWriter(store);
    expect(JSON.stringify(reopened.archive.state)).toBe(JSON.stringify(archive.state));
    expect(await reopened.archive.append((state) => nextOf(state, "OPS"))).toMatchObject({
      commit: { n: 100 },
    });
  });

  it("reading continues from any of them", async () => {
    const store = createMemoryStore();
    const { archive } = await openWriter(store);
    for (let n = 0; n < 40; n++) await archive.append(() => hold(`${n}`));
    const numbers: number[] = [];
    for await (const { commit } of archive.commits(25)) numbers.push(commit.n);
    expect(numbers).toEqual(Array.from({ length: 15 }, (_, i) => 25 + i));
  });

  it("one that is not of the others is refused", async () => {
    const store = createMemoryStore();
    const { archive } = await openWriter(store);
    for (let n = 0; n < 3; n++) await archive.append(() => hold(`${n}`));
    await store.put(commitKey(1), (await store.get(commitKey(2)))!);
    await expect(openArchive({ store, name: NAME })).rejects.toMatchObject({ code: "archive_corrupt" });
  });
});
