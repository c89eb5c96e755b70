import { type BlobStore, createNoteKey, openArchive } from "@reprise/archive";
import { type FilledArchive, openFilledArchive } from "../../testing/filled-archive.ts";
import { SIGNING_SEED } from "../../testing/test-keys.ts";
import { describe, expect, test } from "vitest";
import { type GenerationRef, type RepriseError, unixNow } from "@reprise/protocol";
import { completed, createRef, delta, requested } from "@reprise/testkit";
import { eraseSubject, type ErasureRequest } from "./erase.ts";
import { liftHold, setHold } from "../hold.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import { deleteExpired } from "../maintenance/retention.ts";

const DAY_US = 86_400_000_000;
const { tenant } = createRef();
const who = { by: "operator", reason: "a test" };
const REFUSED = { code: "erasure_refused" };

function contextOf({ archive, keyring }: FilledArchive): LifecycleContext {
  return { archive, keyring, store: archive.store, live: undefined };
}

function erase(filled: FilledArchive, what: Partial<ErasureRequest>) {
  return eraseSubject(contextOf(filled), { tenant, ...who, ...what });
}

/** An archive with generations of these subjects, stored so long ago. */
async function fill(filled: FilledArchive, subjects: readonly (string | undefined)[], daysAgo = 10) {
  const refs: GenerationRef[] = [];
  for (const subject of subjects) {
    const ref = createRef();
    const draft = requested(ref, { ...(subject !== undefined && { subject }), metadata: { room: "7" } });
    filled.log(ref, [draft, delta("x"), completed()], Date.now() * 1_000 - daysAgo * DAY_US);
    refs.push(ref);
  }
  await filled.commit();
  return refs;
}

describe("a legal hold", () => {
  test.each([
    ["of the tenant", {}],
    ["of the subject", { subject: "ann" }],
  ])("%s forbids to erase the subject until it is lifted", async (_, what) => {
    await using filled = await openFilledArchive();
    await fill(filled, ["ann", "bob"]);
    const id = await setHold(contextOf(filled), { tenant, ...who, ...what });
    await expect(erase(filled, { subject: "ann" })).rejects.toMatchObject(REFUSED);
    await expect(erase(filled, { subject: "ann", despiteMinimum: true })).rejects.toMatchObject(REFUSED);
    await liftHold(filled.archive, { tenant, id, ...who });
    expect(await erase(filled, { subject: "ann" })).toMatchObject({ kind: "waiting" });
  });

  test("of one generation forbids to erase its subject, and no other", async () => {
    await using filled = await openFilledArchive();
    const [ann] = await fill(filled, ["ann", "bob"]);
    await setHold(contextOf(filled), { tenant, ...who, generation: ann!.generation });
    await expect(erase(filled, { subject: "ann" })).rejects.toMatchObject(REFUSED);
    expect(await erase(filled, { subject: "bob" })).toMatchObject({ kind: "waiting" });
  });

  test("of a subject forbids to erase one generation of it", async () => {
    await using filled = await openFilledArchive();
    const [ann] = await fill(filled, ["ann"]);
    await setHold(contextOf(filled), { tenant, ...who, subject: "ann" });
    await expect(erase(filled, { generation: ann!.generation })).rejects.toMatchObject(REFUSED);
  });

  test("that another process sets while the subject is searched for forbids it too", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, ["ann"]);
    const { archive, keyring } = filled;
    const onError = () => expect.unreachable();
    const writer = { name: "another", signer: createNoteKey("test", SIGNING_SEED), onError };
    const another = await openArchive({ store: archive.store, name: "test", writer });
    const store: BlobStore = {
      ...archive.store,
      async *list(prefix) {
        if (another.state.holds(tenant).length === 0)
          await setHold({ archive: another, keyring }, { tenant, ...who });
        yield* archive.store.list(prefix);
      },
    };
    const erasing = eraseSubject({ ...contextOf(filled), store }, { tenant, ...who, subject: "ann" });
    await expect(erasing).rejects.toMatchObject(REFUSED);
    expect(archive.state.records(tenant).map(({ kind }) => kind)).toEqual(["hold_set"]);
  });

  test("writes no subject's name into the archive", async () => {
    await using filled = await openFilledArchive();
    await setHold(contextOf(filled), { tenant, ...who, subject: "ann" });
    expect(JSON.stringify(filled.archive.state)).not.toContain("ann");
  });
});

describe("the tenant's minimum", () => {
  test("forbids to erase what is younger, unless it is to be erased all the same", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, ["ann"], 10);
    await expect(erase(filled, { subject: "ann", minDays: 11 })).rejects.toMatchObject(REFUSED);
    const despite = { subject: "ann", minDays: 11, despiteMinimum: true };
    expect(await erase(filled, despite)).toMatchObject({ kind: "waiting" });
  });

  test("allows to erase what is older", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, ["ann"], 10);
    expect(await erase(filled, { subject: "ann", minDays: 9 })).toMatchObject({ kind: "waiting" });
  });
});

describe("one generation", () => {
  test("that shares the key of its subject with others is not erased alone", async () => {
    await using filled = await openFilledArchive();
    const [first] = await fill(filled, ["ann", "ann"]);
    const refused = erase(filled, { generation: first!.generation });
    await expect(refused).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining("1 other") });
    expect(filled.archive.state.records(tenant)).toEqual([]);
  });

  test("without a subject is erased, and no other one", async () => {
    await using filled = await openFilledArchive();
    const [first, second] = await fill(filled, [undefined, undefined]);
    await erase(filled, { generation: first!.generation });
    const read = async ({ generation }: GenerationRef) =>
      (await Array.fromAsync(filled.reader.events({ tenant, generation }))).length;
    await expect(read(first!)).rejects.toMatchObject({ code: "generation_erased" });
    expect(await read(second!)).toBe(3);
  });
});

test("erases nothing of another tenant, even with the same subject", async () => {
  await using filled = await openFilledArchive();
  await fill(filled, ["ann"]);
  const rival = createRef("rival");
  expect(await erase(filled, { tenant: rival.tenant, subject: "ann" })).toEqual({ kind: "nothing" });
});

describe("a file that can't be read", () => {
  /** Two generations, each in a file of its own; the first file is damaged. */
  async function openDamaged() {
    const filled = await openFilledArchive();
    const [ann] = await fill(filled, ["ann"]);
    const [bob] = await fill(filled, ["bob"]);
    const [file] = filled.archive.state.files(tenant);
    await filled.archive.store.put(file!.key, new Uint8Array(file!.bytes));
    return { filled, ann: ann!, bob: bob!, key: file!.key };
  }

  test("is told, and does not keep others from being erased", async () => {
    const { filled, key } = await openDamaged();
    await using _ = filled;
    const damaged: RepriseError[] = [];
    const context = { ...contextOf(filled), onDamaged: (error: RepriseError) => damaged.push(error) };
    const outcome = await eraseSubject(context, { tenant, ...who, subject: "bob" });
    expect(outcome).toMatchObject({ kind: "waiting" });
    expect(damaged[0]).toMatchObject({ code: "archive_corrupt", message: expect.stringContaining(key) });
  });

  test("refuses an erasure whose key is known only from the damaged file", async () => {
    const { filled, ann } = await openDamaged();
    await using _ = filled;
    const erasing = erase(filled, { generation: ann.generation });
    await expect(erasing).rejects.toMatchObject({ code: "archive_corrupt" });
    expect(filled.archive.state.records(tenant)).toEqual([]);
  });

  test("counts as held where a subject is held", async () => {
    const { filled, key } = await openDamaged();
    await using _ = filled;
    await setHold(contextOf(filled), { tenant, ...who, subject: "ann" });
    const time = { maxDays: 1, nowMs: unixNow() };
    await deleteExpired(contextOf(filled), tenant, time);
    expect(filled.archive.state.files(tenant).map((file) => file.key)).toEqual([key]);
  });

  test("forbids to erase a generation that lies in it too while any subject is held", async () => {
    const { filled, ann } = await openDamaged();
    await using _ = filled;
    filled.event(ann, 3, delta("late"), Date.now() * 1_000);
    await filled.commit();
    const id = await setHold(contextOf(filled), { tenant, ...who, subject: "carol" });
    await expect(erase(filled, { generation: ann.generation })).rejects.toMatchObject(REFUSED);
    await liftHold(filled.archive, { tenant, id, ...who });
    expect(await erase(filled, { generation: ann.generation })).toMatchObject({ kind: "waiting" });
  });
});
