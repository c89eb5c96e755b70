import { randomBytes } from "node:crypto";
import type { BlobStore } from "@reprise/archive";
import * as blobs from "@reprise/blobs";
import { OPS_STREAM, parseTenantId, RepriseError } from "@reprise/protocol";
import { completed, createRef, delta, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { eraseSubject } from "../lifecycle/erasure/erase.ts";
import { openErasures } from "../records/erasures.ts";
import { finishErasure } from "../lifecycle/erasure/finish-erasure.ts";
import { setHold } from "../lifecycle/hold.ts";
import { openCopyingWorld } from "../testing/worlds/copied-blobs.ts";
import { sweepCopies } from "./sweep-copies.ts";
import { findingsIn, openLifecycleWorld, SETTLE_MS, writeLog } from "../testing/worlds/lifecycle-world.ts";

const acme = parseTenantId("acme");
const beta = parseTenantId("beta");
const who = { tenant: acme, by: "ann", reason: "asked for" };
const settle = { settleMs: SETTLE_MS };

async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openLifecycleWorld());
  const copying = openCopyingWorld(world);
  const wanted = new Set<string>([acme]);
  const source = { storage: copying.storage, isWanted: (tenant: string) => wanted.has(tenant) };
  const kept = stack.move();
  return { world, ...copying, wanted, source, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("the bytes of blobs are in the archive of a tenant that asks for it, once each, and of no other", async () => {
  await using opened = await openWorld();
  const { world, make, tell, source } = opened;
  const large = randomBytes(5_000_000);
  const [one, other] = [await make(acme, large), await make(acme, Buffer.from("small"), { subject: "ann" })];
  const foreign = await make(beta, Buffer.from("of beta"));
  await using archiver = await world.startArchiver({ copies: source });
  for (const blob of [one, other, one]) await tell(acme, blob);
  await tell(beta, foreign);
  await opened.archived();
  await tell(acme, one);
  await opened.archived();
  const copies = await opened.copies(acme);
  expect(copies.map(({ blob }) => blob).toSorted()).toEqual([one.id, other.id].toSorted());
  const byBlob = Map.groupBy(copies, ({ blob }) => blob);
  expect(await opened.contentOf(acme, byBlob.get(one.id)![0]!)).toEqual(large);
  expect(await opened.contentOf(acme, byBlob.get(other.id)![0]!)).toEqual(Buffer.from("small"));
  expect(byBlob.get(other.id)?.[0]).toMatchObject({
    tag: expect.any(String),
    kid: expect.stringMatching(/^s\./),
  });
  expect(byBlob.get(one.id)?.[0]).not.toHaveProperty("tag");
  expect(await opened.copies(beta)).toEqual([]);
  expect(await opened.parts()).toHaveLength(3 + 2);
  // No commit says which content it is of, in any form that outlives the key.
  expect(JSON.stringify(archiver.archive.state)).not.toContain(one.sha256);
  expect(await findingsIn(world)).toEqual([]);
  expect(world.errors).toEqual([]);
});

test("what could not be copied in time is told by a record", async () => {
  await using opened = await openWorld();
  const { world, make, tell, storage } = opened;
  const deleted = await make(acme, Buffer.from("deleted"));
  await blobs.removeBlob(storage, acme, deleted.id);
  const damaged = await make(acme, Buffer.from("damaged"));
  const chunks: typeof storage.chunks = {
    ...storage.chunks,
    async *read() {
      yield Buffer.from("changed");
    },
  };
  await using _ = await world.startArchiver({
    copies: { ...opened.source, storage: { ...storage, chunks } },
  });
  await tell(acme, deleted);
  await tell(acme, damaged);
  await opened.archived();
  const { archive } = await world.openContext();
  expect(archive.state.records(acme)).toMatchObject([
    { kind: "blob_missed", reason: "gone", blob: deleted.id },
    { kind: "blob_missed", reason: "damaged", blob: damaged.id },
  ]);
  expect(await opened.parts()).toEqual([]);
  expect((await findingsIn(world)).map(({ kind }) => kind)).toEqual(["gap", "gap"]);
});

test("bytes that a replica does not have yet are read again", async () => {
  await using opened = await openWorld();
  const { world, storage } = opened;
  const blob = await opened.make(acme, randomBytes(300_000));
  let reads = 0;
  const chunks: typeof storage.chunks = {
    ...storage.chunks,
    async *read(ref) {
      for await (const chunk of storage.chunks.read(ref)) {
        yield chunk;
        if (reads++ === 0) return;
      }
    },
  };
  await using _ = await world.startArchiver({
    copies: { ...opened.source, storage: { ...storage, chunks } },
  });
  await opened.tell(acme, blob);
  await opened.archived();
  const [copy] = await opened.copies(acme);
  expect(copy?.blob).toBe(blob.id);
  expect((await opened.parts()).filter((key) => key.startsWith(copy!.key))).toHaveLength(2);
});

test("while the broker's bytes are away the lane waits, and loses none", async () => {
  await using opened = await openWorld();
  const { world, storage } = opened;
  const blob = await opened.make(acme, Buffer.from("waited for"));
  let failures = 3;
  const rows: typeof storage.rows = Object.assign(Object.create(storage.rows), {
    read: (subject: string) =>
      failures-- > 0
        ? Promise.reject(new RepriseError("broker_unavailable", "The broker does not answer."))
        : storage.rows.read(subject),
  });
  await using _ = await world.startArchiver({ copies: { ...opened.source, storage: { ...storage, rows } } });
  await opened.tell(acme, blob);
  await opened.archived();
  expect(await opened.copies(acme)).toMatchObject([{ blob: blob.id }]);
  expect(failures).toBeLessThan(0);
});

test("an erasure takes the copies of a subject's blobs, also where there is no generation of it, and the archive verifies", async () => {
  await using opened = await openWorld();
  const { world, make, tell, source } = opened;
  const anns = await make(acme, Buffer.from("of ann"), { subject: "ann" });
  const bobs = await make(acme, Buffer.from("of bob"), { subject: "bob" });
  await using _ = await world.startArchiver({ copies: source });
  for (const blob of [anns, bobs]) await tell(acme, blob);
  await opened.archived();
  const copies = await opened.copies(acme);
  const [ofAnn] = copies.filter(({ blob }) => blob === anns.id);

  const context = await world.openContext();
  await setHold(context, { tenant: acme, subject: "ann", by: "eve", reason: "a case" });
  await expect(eraseSubject(context, { ...who, subject: "ann" }, settle)).rejects.toMatchObject({
    code: "erasure_refused",
  });
  const bob = { ...who, subject: "bob" };
  await expect(eraseSubject(await world.openContext(), { ...bob, minDays: 1 }, settle)).rejects.toMatchObject(
    {
      code: "erasure_refused",
    },
  );
  const outcome = await eraseSubject(await world.openContext(), bob, settle);
  expect(outcome).toMatchObject({ kind: "erased", certificate: { generations: [], keys: [/^s\./] } });
  expect((await opened.copies(acme)).map(({ blob }) => blob)).toEqual([anns.id]);
  expect((await opened.parts()).every((key) => key.startsWith(ofAnn!.key))).toBe(true);
  const bobCopy = copies.find(({ blob }) => blob === bobs.id)!;
  await expect(opened.contentOf(acme, bobCopy)).rejects.toThrow("its key is destroyed");
  expect(await findingsIn(world)).toEqual([]);
});

test("an erasure that was begun without a broker is finished with the copies that it takes", async () => {
  await using opened = await openWorld();
  const { world, source } = opened;
  const blob = await opened.make(acme, Buffer.from("of ann"), { subject: "ann" });
  await using _ = await world.startArchiver({ copies: source });
  await opened.tell(acme, blob);
  await opened.archived();
  const alone = { ...(await world.openContext()), live: undefined };
  expect(await eraseSubject(alone, { ...who, subject: "ann" }, settle)).toMatchObject({ kind: "waiting" });
  // As the audit log does, which does not know the subject.
  const context = await world.openContext();
  for (const { erasure } of openErasures(context.archive.state))
    await finishErasure(context, acme, erasure, settle);
  expect(await opened.copies(acme)).toEqual([]);
  expect(await opened.parts()).toEqual([]);
  expect(await findingsIn(world)).toEqual([]);
});

test("an erasure of a generation takes what it has made, and one of a subject what its generations have", async () => {
  await using opened = await openWorld();
  const { world, make, tell, source } = opened;
  const [alone, ofAnn, other] = [createRef(), createRef(), createRef()];
  const said = [started(), delta("words"), completed()];
  await writeLog(world.live.log, ofAnn, { subject: "ann" }, said);
  for (const ref of [alone, other]) await writeLog(world.live.log, ref, {}, said);
  const made = [
    await make(acme, Buffer.from("sound"), { generation: alone.generation }),
    await make(acme, Buffer.from("sound"), { generation: ofAnn.generation, subject: "ann" }),
    await make(acme, Buffer.from("sound"), { generation: other.generation }),
  ];
  await using _ = await world.startArchiver({ copies: source });
  for (const blob of made) await tell(acme, blob);
  await opened.archived();
  expect(await opened.copies(acme)).toHaveLength(3);
  await eraseSubject(await world.openContext(), { ...who, generation: alone.generation }, settle);
  const makers = (await opened.copies(acme)).map(({ generation }) => generation);
  expect(new Set(makers)).toEqual(new Set([ofAnn.generation, other.generation]));
  await eraseSubject(await world.openContext(), { ...who, subject: "ann" }, settle);
  const left = await opened.copies(acme);
  expect(left).toMatchObject([{ generation: other.generation }]);
  expect(await opened.contentOf(acme, left[0]!)).toEqual(Buffer.from("sound"));
  expect(await opened.parts()).toHaveLength(2);
  expect(await findingsIn(world)).toEqual([]);
});

/** A store that calls back before it writes the first part of a copy, and before the first commit after that. */
function meanwhile(
  store: BlobStore,
  { onPart, onCommit }: Record<"onPart" | "onCommit", () => Promise<unknown>>,
): BlobStore {
  let hasPart = false;
  let hasCommit = false;
  return {
    ...store,
    async put(key, bytes) {
      if (key.startsWith("blob/") && !hasPart) {
        hasPart = true;
        await onPart();
      }
      await store.put(key, bytes);
    },
    async create(key, bytes) {
      if (key.startsWith("_log/") && hasPart && !hasCommit) {
        hasCommit = true;
        await onCommit();
      }
      return store.create(key, bytes);
    },
  };
}

test.each(["onPart", "onCommit"] as const)(
  "a subject that is erased while its blob is copied has no copy: %s",
  async (moment) => {
    await using opened = await openWorld();
    const { world, source } = opened;
    const blob = await opened.make(acme, Buffer.from("of ann"), { subject: "ann" });
    let outcome: unknown;
    const erase = async () => {
      outcome = await eraseSubject(await world.openContext(), { ...who, subject: "ann" }, settle);
    };
    const calls = { onPart: async () => {}, onCommit: async () => {}, [moment]: erase };
    await using _ = await world.startArchiver({
      store: meanwhile(world.store, calls),
      copies: source,
      streams: [OPS_STREAM],
    });
    await opened.tell(acme, blob);
    await opened.archived();
    expect(outcome).toMatchObject({ kind: "erased", certificate: { keys: [/^s\./] } });
    expect(await opened.copies(acme)).toEqual([]);
    const { archive } = await world.openContext();
    const missed = archive.state.records(acme).filter(({ kind }) => kind === "blob_missed");
    expect(missed).toMatchObject([{ blob: blob.id }]);
    expect((await findingsIn(world)).filter(({ kind }) => kind === "tampered")).toEqual([]);
    await sweepCopies(await world.openContext());
    expect(await opened.parts()).toEqual([]);
  },
);
