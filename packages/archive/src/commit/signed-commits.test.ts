import { describe, expect, it } from "vitest";
import { createNoteKey } from "../note/note-key.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { verifyArchive } from "../verify/verify-archive.ts";
import { openArchive } from "./archive.ts";
import type { ArchiveState } from "./archive-state.ts";
import { toCommit } from "./draft.ts";
import { hold, NAME, nextOf, openWriter, signer, stretch } from "./lanes.fixture.ts";
import { commitKey, SNAPSHOT_KEY } from "../store/paths.ts";

/** An attacker that may write objects and knows their format. */
const stranger = createNoteKey(NAME, Buffer.alloc(32, 1));

/** A stream's places are said to have been left out lawfully, far ahead of what is in it. */
function inject(state: ArchiveState): Uint8Array {
  const by = { archive: NAME, name: "stranger", signer: stranger };
  return Buffer.from(JSON.stringify(toCommit(stretch("GENERATIONS_0", 1, 1_000_000), state, by)));
}

async function openInjected() {
  const store = createMemoryStore();
  const { archive } = await openWriter(store);
  await archive.append(() => stretch("OPS", 1));
  return { store, archive, injected: commitKey(archive.state.next), bytes: inject(archive.state) };
}

describe("a commit that was stored without the key", () => {
  it("stops the writer", async () => {
    const { store, archive, injected, bytes } = await openInjected();
    await store.create(injected, bytes);
    await expect(archive.append(() => hold("1"))).rejects.toMatchObject({ code: "archive_corrupt" });
    await expect(openWriter(store)).rejects.toMatchObject({ code: "archive_corrupt" });
    expect(archive.state.next).toBe(1);
  });

  it("is tampering to a verifier, though all else is signed", async () => {
    const { store, injected, bytes } = await openInjected();
    await store.create(injected, bytes);
    const { verdict, findings } = await verifyArchive({
      store,
      name: NAME,
      vkeys: [signer],
      witnesses: [],
      witnessed: [],
    });
    expect(verdict).toBe("tampered");
    expect(findings).toContainEqual(expect.objectContaining({ kind: "tampered", where: injected }));
  });

  it("does not pass for the archive's with the signature of another commit, nor with a blank more", async () => {
    const { store, injected, bytes } = await openInjected();
    const { signed } = JSON.parse(Buffer.from((await store.get(commitKey(0)))!).toString()) as {
      signed: string;
    };
    await store.put(
      injected,
      Buffer.from(JSON.stringify({ ...JSON.parse(String(Buffer.from(bytes))), signed })),
    );
    await expect(openWriter(store)).rejects.toMatchObject({ code: "archive_corrupt" });
    await store.delete(injected);
    await store.put(
      commitKey(0),
      Buffer.from(`${Buffer.from((await store.get(commitKey(0)))!).toString()} `),
    );
    await expect(openWriter(store)).rejects.toMatchObject({ code: "archive_corrupt" });
  });
});

it("a writer begins only with a snapshot that the archive has signed", async () => {
  const store = createMemoryStore();
  const { archive } = await openWriter(store);
  for (let n = 0; n < 70; n++) await archive.append((state) => nextOf(state, "OPS"));
  const snapshot = JSON.parse(Buffer.from((await store.get(SNAPSHOT_KEY))!).toString()) as {
    lanes: object[];
  };
  const lanes = snapshot.lanes.map((lane) => ({ ...lane, last: 1_000_000 }));
  await store.put(SNAPSHOT_KEY, Buffer.from(JSON.stringify({ ...snapshot, lanes })));
  const { archive: again, errors } = await openWriter(store);
  expect(again.state.lanes.get("OPS")?.last).toBe(70);
  expect(errors).toMatchObject([{ code: "archive_corrupt" }]);
});

it("a writer that knows the earlier key continues an archive whose key was changed", async () => {
  const store = createMemoryStore();
  const { archive } = await openWriter(store);
  await archive.append(() => hold("1"));
  const onError = (error: unknown) => {
    throw error;
  };
  const next = createNoteKey(NAME, Buffer.alloc(32, 2));
  const writer = { name: "writer", signer: next, onError };
  await expect(openArchive({ store, name: NAME, writer })).rejects.toMatchObject({ code: "archive_corrupt" });
  const changed = await openArchive({ store, name: NAME, writer: { ...writer, earlier: [signer] } });
  expect(await changed.append(() => hold("2"))).toMatchObject({ kind: "committed", commit: { n: 1 } });
  const options = { store, name: NAME, witnesses: [], witnessed: [] };
  expect(await verifyArchive({ ...options, vkeys: [next, signer] })).toMatchObject({ verdict: "fine" });
  expect(await verifyArchive({ ...options, vkeys: [next] })).toMatchObject({ verdict: "tampered" });
});
