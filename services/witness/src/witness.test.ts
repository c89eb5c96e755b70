import { asUnixMs } from "@reprise/protocol";
import {
  COSIGNATURE,
  cosignedAt,
  createNoteKey,
  encodeCheckpoint,
  openNote,
  parseNote,
  signNote,
  encodeAddCheckpoint,
} from "@reprise/archive";
import { describe, expect, it, test } from "vitest";
import { createHistory, type History, LOG, ORIGIN } from "@reprise/archive/testing";
import { type AddOutcome, createWitness } from "./witness.ts";

const NOW = 1_795_000_000;
const nextLog = createNoteKey("reprise", Buffer.alloc(32, 2));
const stranger = createNoteKey("reprise", Buffer.alloc(32, 3));
const key = createNoteKey("witness", Buffer.alloc(32, 4), COSIGNATURE);
const history = createHistory("leaf", 100);
const fork = createHistory("fork", 100);

function createMemory() {
  const kept = new Map<string, Uint8Array>();
  return {
    kept,
    get: async (name: string) => kept.get(name),
    put: async (name: string, bytes: Uint8Array) => void kept.set(name, bytes),
  };
}

function openWitness(store = createMemory()) {
  const witness = createWitness({ store, key, logs: [LOG, nextLog], now: () => asUnixMs(NOW * 1_000 + 999) });
  const add = async (
    oldSize: number,
    size: number,
    { from, note }: { from?: History; note?: string } = {},
  ) => {
    const { proof, note: noteOf } = from ?? history;
    const request = { oldSize, proof: await proof(oldSize, size), note: note ?? noteOf(size) };
    return witness.add(encodeAddCheckpoint(request));
  };
  return { witness, store, add };
}

function linesOf(outcome: AddOutcome): string {
  return outcome.kind === "cosigned" ? outcome.lines : `— ${outcome.kind}`;
}

describe("a witness", () => {
  it("cosigns the first checkpoint of a tree and each that continues from the last, and keeps the newest", async () => {
    const { witness, add } = openWitness();
    const steps: [number, number][] = [
      [0, 3],
      [3, 8],
      [8, 8],
      [8, 100],
    ];
    for (const [oldSize, size] of steps) {
      const note = `${history.note(size)}${linesOf(await add(oldSize, size))}`;
      expect(cosignedAt(note, key)).toBe(NOW);
      expect(await witness.latest(ORIGIN)).toBe(note);
    }
  });

  it("says how far it has seen a tree that is submitted from elsewhere", async () => {
    const { add } = openWitness();
    expect(await add(5, 8)).toEqual({ kind: "conflict", size: 0 });
    await add(0, 8);
    expect(await add(5, 20)).toEqual({ kind: "conflict", size: 8 });
    expect(await add(0, 20)).toEqual({ kind: "conflict", size: 8 });
  });

  it("cosigns no log that was rolled back, for any old size that it claims", async () => {
    const { witness, add } = openWitness();
    await add(0, 20);
    const before = await witness.latest(ORIGIN);
    expect(await add(7, 12)).toEqual({ kind: "conflict", size: 20 });
    const shorter = { oldSize: 20, proof: await history.proof(7, 12), note: history.note(12) };
    expect(await witness.add(encodeAddCheckpoint(shorter))).toEqual({ kind: "malformed" });
    expect(await witness.latest(ORIGIN)).toBe(before);
  });

  it("cosigns no second history, be it as large, larger, or with a proof of its own", async () => {
    const { witness, add } = openWitness();
    await add(0, 20);
    const before = await witness.latest(ORIGIN);
    expect(await add(20, 20, { from: fork })).toEqual({ kind: "conflict", size: 20 });
    expect(await add(20, 50, { from: fork })).toEqual({ kind: "inconsistent" });
    const mixed = { oldSize: 20, proof: await history.proof(20, 50), note: fork.note(50) };
    expect(await witness.add(encodeAddCheckpoint(mixed))).toEqual({ kind: "inconsistent" });
    expect(await add(20, 50, { from: fork, note: history.note(50) })).toEqual({ kind: "inconsistent" });
    expect(await witness.latest(ORIGIN)).toBe(before);
    expect(await add(20, 50)).toMatchObject({ kind: "cosigned" });
  });

  it("takes an empty tree for what it is, with no other root and no proof", async () => {
    const { witness, add } = openWitness();
    const root = Buffer.alloc(32, 5);
    const note = signNote(encodeCheckpoint({ origin: ORIGIN, size: 0, root }), [LOG]);
    expect(await add(0, 0, { note })).toEqual({ kind: "conflict", size: 0 });
    const superfluous = { oldSize: 0, proof: [root], note: history.note(4) };
    expect(await witness.add(encodeAddCheckpoint(superfluous))).toEqual({ kind: "inconsistent" });
    expect(await add(0, 0)).toMatchObject({ kind: "cosigned" });
    expect(await add(0, 4)).toMatchObject({ kind: "cosigned" });
  });

  it("checks signatures of the log's keys, old and new, and of no others", async () => {
    const { witness, add } = openWitness();
    expect(await add(0, 4, { note: history.note(4, stranger) })).toEqual({ kind: "unsigned" });
    const forged = history.note(4).replace("\n4\n", "\n5\n");
    expect(await add(0, 4, { note: forged })).toEqual({ kind: "unsigned" });
    const [, line] = history.note(4, stranger).split("\n\n");
    expect(await add(0, 4, { note: `${history.note(4, nextLog)}${line}` })).toMatchObject({
      kind: "cosigned",
    });
    const kept = (await witness.latest(ORIGIN)) ?? "";
    expect(openNote(kept, [LOG, nextLog, stranger]).verified).toEqual([nextLog]);
    expect(parseNote(kept).signatures).toHaveLength(2);
  });

  test.each(["other/acme", "reprisex"])("does not know the origin %s", async (origin) => {
    const { add } = openWitness();
    expect(await add(0, 4, { note: history.note(4, LOG, origin) })).toEqual({ kind: "unknown_log" });
  });

  it("keeps the trees of a log apart", async () => {
    const { witness, add } = openWitness();
    await add(0, 20);
    expect(await add(0, 7, { from: fork, note: fork.note(7, LOG, "reprise/.archive") })).toMatchObject({
      kind: "cosigned",
    });
    expect(await witness.latest("reprise%2F.archive")).toContain("reprise/.archive\n7\n");
    expect(await witness.latest("reprise/nobody")).toBeUndefined();
    expect(await witness.latest("%")).toBeUndefined();
  });

  test.each([
    ["nothing", ""],
    ["an old size with leading zeros", `old 00\n\n${history.note(4)}`],
    ["a proof that is not base64", `old 0\n!\n\n${history.note(4)}`],
    ["a hash that is cut", `old 0\n${Buffer.alloc(31).toString("base64")}\n\n${history.note(4)}`],
    [
      "more hashes than any proof has",
      `old 0\n${`${Buffer.alloc(32).toString("base64")}\n`.repeat(64)}\n${history.note(4)}`,
    ],
    ["an old size above the new one", `old 5\n\n${history.note(4)}`],
    ["no note", "old 0\n\nreprise/acme\n"],
    ["a note that is no checkpoint", `old 0\n\n${signNote("reprise/acme\n4\n", [LOG])}`],
  ])("does not understand %s", async (_, body) => {
    const { witness } = openWitness();
    expect(await witness.add(body)).toEqual({ kind: "malformed" });
  });

  it("cosigns one of many checkpoints that come at once and continue from the same tree", async () => {
    const { witness, add } = openWitness();
    await add(0, 8);
    const sizes = Array.from({ length: 20 }, (_, i) => 9 + i);
    const outcomes = await Promise.all(sizes.map((size) => add(8, size)));
    const cosigned = sizes.filter((_, i) => outcomes[i]!.kind === "cosigned");
    expect(cosigned).toHaveLength(1);
    const [size] = cosigned;
    expect(outcomes.filter((outcome) => outcome.kind === "conflict")).toEqual(
      Array.from({ length: 19 }, () => ({ kind: "conflict", size })),
    );
    expect(await witness.latest(ORIGIN)).toContain(`\n${size}\n`);
  });

  it("cosigns nothing that it can't keep, or while it can't read what it has seen", async () => {
    const store = createMemory();
    const { add } = openWitness(store);
    await add(0, 8);
    const full = { ...store, put: async () => Promise.reject(new Error("the disk is full")) };
    await expect(openWitness(full).add(8, 9)).rejects.toThrow("full");
    expect(await openWitness(store).add(8, 10)).toMatchObject({ kind: "cosigned" });
    for (const bad of ["reprise/acme\n", "", fork.note(8, LOG, "reprise/other")]) {
      for (const name of store.kept.keys()) store.kept.set(name, Buffer.from(bad));
      await expect(openWitness(store).add(0, 12)).rejects.toMatchObject({ code: "archive_corrupt" });
    }
  });
});
