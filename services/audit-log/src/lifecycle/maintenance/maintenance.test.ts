import { createNoteKey, openArchive } from "@reprise/archive";
import { createFaultyStore } from "@reprise/archive/testing";
import { type GenerationRef, RepriseError, plusMs, toUnixMs } from "@reprise/protocol";
import { completed, createRef, delta, requested } from "@reprise/testkit";
import { describe, expect, test, vi } from "vitest";
import { type FilledArchive, openFilledArchive } from "../../testing/filled-archive.ts";
import { SIGNING_SEED } from "../../testing/test-keys.ts";
import { verifyStore } from "../../testing/verify-store.ts";
import { compact } from "./compaction.ts";
import { setHold } from "../hold.ts";
import { type MaintenanceOptions, startMaintenance } from "./maintenance.ts";
import { nextCompaction } from "./next-compaction.ts";
import { readStoredHeaders } from "../erasure/stored-headers.ts";

const { tenant } = createRef();
const DAY_MS = 86_400_000;
const START = toUnixMs("2026-11-01T10:00:00Z");
const HOUR_MS = 3_600_000;
const who = { tenant, by: "operator", reason: "a test" };

function maintenanceOf({ archive, keyring }: FilledArchive, options: Partial<MaintenanceOptions> = {}) {
  const errors: unknown[] = [];
  const maintenance = startMaintenance({
    archive,
    keyring,
    store: archive.store,
    live: undefined,
    holder: "test",
    tenants: () => [],
    onError: (error) => errors.push(error),
    ...options,
  });
  return { ...maintenance, errors, [Symbol.asyncDispose]: () => maintenance.close() };
}

/** A generation per commit, `apartMs` after the one before. */
async function fill(filled: FilledArchive, howMany: number, apartMs: number): Promise<GenerationRef[]> {
  const refs = Array.from({ length: howMany }, () => createRef());
  for (const [i, ref] of refs.entries()) {
    const drafts = [requested(ref, { subject: `person-${i}` }), delta(`text ${i}`), completed()];
    filled.log(ref, drafts, (START + i * apartMs) * 1_000);
    await filled.commit();
  }
  return refs;
}

async function textOf({ reader }: FilledArchive, ref: GenerationRef): Promise<string> {
  const events = await Array.fromAsync(reader.events(ref));
  return events.map(({ payload }) => Buffer.from(payload).toString()).join("\n");
}

function filesOf({ archive }: FilledArchive): string[] {
  return archive.state.files(tenant).map(({ key }) => key);
}

async function objectsOf({ archive: { store } }: FilledArchive): Promise<string[]> {
  return (await Array.fromAsync(store.list("data/"))).map(({ key }) => key);
}

test("a thorough round that is asked for while another runs comes after it", async () => {
  await using filled = await openFilledArchive();
  const tenants = vi.fn(() => []);
  await using maintenance = maintenanceOf(filled, { tenants });
  await Promise.all([maintenance.run(), maintenance.run()]);
  expect(tenants).toHaveBeenCalledTimes(2);
});

test("closing does not wait for a round that can't commit, and nothing tries on once the archive is closed", async () => {
  await using filled = await openFilledArchive();
  await fill(filled, 3, 1_000);
  let refused = 0;
  const { store } = filled.archive;
  const away = createFaultyStore(store, ({ method }) => {
    if (method !== "create") return undefined;
    refused++;
    return "before";
  });
  const signer = createNoteKey("test", SIGNING_SEED);
  const archive = await openArchive({
    store: away,
    name: "test",
    writer: { name: "another", signer, onError: () => {} },
  });
  const maintenance = maintenanceOf(filled, { archive, closeMs: 50, now: () => plusMs(START, DAY_MS) });
  const round = maintenance.run();
  await expect.poll(() => refused).toBeGreaterThan(0);
  await maintenance.close();
  archive.close();
  await round;
  expect(maintenance.errors).toEqual([]);
  expect(filesOf(filled)).toHaveLength(3);
});

describe("small files", () => {
  test("of a day that is over become one, without a new leaf, and everything is read as before", async () => {
    await using filled = await openFilledArchive();
    const refs = await fill(filled, 5, 1_000);
    const before = {
      tree: filled.archive.state.tree(tenant).toJSON(),
      texts: await Promise.all(refs.map((ref) => textOf(filled, ref))),
    };
    await using maintenance = maintenanceOf(filled, { now: () => plusMs(START, DAY_MS) });
    await maintenance.run();
    expect(maintenance.errors).toEqual([]);
    expect(filesOf(filled)).toHaveLength(1);
    expect(await verifyStore(filled.archive.store)).toEqual([]);
    expect(filesOf(filled)[0]).toMatch(/dt=2026-11-01\/GENERATIONS_0-1-15-[0-9a-f]{12}\.parquet$/);
    expect(filled.archive.state.tree(tenant).toJSON()).toEqual(before.tree);
    expect(await Promise.all(refs.map((ref) => textOf(filled, ref)))).toEqual(before.texts);
  });

  test("stay in the store for a day after they were merged, and no longer", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, 3, 1_000);
    const old = filesOf(filled);
    let now = plusMs(START, DAY_MS);
    await using maintenance = maintenanceOf(filled, { now: () => now });
    await maintenance.run();
    now = plusMs(now, DAY_MS - 1);
    await maintenance.run();
    expect(await objectsOf(filled)).toEqual(expect.arrayContaining(old));
    now = plusMs(now, 1);
    await maintenance.run();
    expect(await objectsOf(filled)).toEqual(filesOf(filled));
  });

  test("that two merge at once are merged once", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, 3, 1_000);
    const { archive } = filled;
    const next = nextCompaction(archive.state.files(tenant), plusMs(START, DAY_MS))!;
    const outcomes = await Promise.all(
      [1, 2].map(() => compact({ archive, store: archive.store }, tenant, next)),
    );
    expect(outcomes.toSorted()).toEqual(["committed", "fenced"]);
    expect(filesOf(filled)).toHaveLength(1);
  });

  test("that were changed are left for the verification of the archive", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, 2, 1_000);
    const [key] = filesOf(filled);
    const { store } = filled.archive;
    const bytes = Uint8Array.from((await store.get(key!))!);
    bytes[200]! ^= 1;
    await store.put(key!, bytes);
    await using maintenance = maintenanceOf(filled, { now: () => plusMs(START, DAY_MS) });
    await maintenance.run();
    expect(maintenance.errors).toEqual([expect.any(RepriseError)]);
    expect(maintenance.errors).toMatchObject([{ code: "archive_corrupt" }]);
    expect(filesOf(filled)).toHaveLength(2);
  });
});

describe("files that were never committed", () => {
  async function orphan({ archive: { store } }: FilledArchive, last: number): Promise<string> {
    const key = `data/tenant=acme/dt=2026-11-01/GENERATIONS_0-1-${last}-0123456789ab.parquet`;
    await store.put(key, new Uint8Array(1));
    return key;
  }

  test("are deleted a day after they were first seen, once the archive is past their place", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, 1, 0);
    const passed = await orphan(filled, 3);
    const ahead = await orphan(filled, 4);
    let now = START;
    await using maintenance = maintenanceOf(filled, { now: () => now });
    await maintenance.run();
    expect(await objectsOf(filled)).toContain(passed);
    now = plusMs(now, DAY_MS);
    await maintenance.run();
    expect(await objectsOf(filled)).not.toContain(passed);
    expect(await objectsOf(filled)).toContain(ahead);
  });
});

describe("files that were never committed, with something that was erased before", () => {
  /** The files of an archiver that died before its commit: here a copy of committed ones. */
  async function openOrphan(last: number) {
    const filled = await openFilledArchive();
    const [gone, other] = [createRef(), createRef()];
    for (const ref of [gone, other])
      filled.log(ref, [requested(ref), delta("x"), completed()], START * 1_000);
    await filled.commit();
    const { store } = filled.archive;
    const [file] = await Array.fromAsync(readStoredHeaders(store, tenant, vi.fn()));
    const key = `data/tenant=acme/dt=2026-11-01/GENERATIONS_0-1-${last}-0123456789ab.parquet`;
    await store.put(key, (await store.get(file!.key))!);
    const kidOf = (ref: GenerationRef) =>
      file!.headers.find(({ generation }) => generation === ref.generation)!.kid;
    await filled.sayErased(gone, new Date(START).toISOString(), []);
    return { filled, key, goneKid: kidOf(gone), otherKid: kidOf(other) };
  }

  test.each([
    ["are deleted once the archive is past their place", 6, false],
    ["stay while an archiver may be about to commit them", 7, true],
  ])("lose its keys at once, and %s", async (...[, last, isLeft]) => {
    const { filled, key, goneKid, otherKid } = await openOrphan(last);
    await using _ = filled;
    await using maintenance = maintenanceOf(filled, { now: () => START });
    await maintenance.run();
    expect(maintenance.errors).toEqual([]);
    expect(await filled.keyring.open(tenant, goneKid)).toBe("destroyed");
    expect(await filled.keyring.open(tenant, otherKid)).toMatchObject({ kid: otherKid });
    expect((await objectsOf(filled)).includes(key)).toBe(isLeft);
    expect(await objectsOf(filled)).toEqual(expect.arrayContaining(filesOf(filled)));
  });
});

describe("retention", () => {
  const keep = (maxDays: number) => () => [{ id: tenant, audit: { minDays: 0, maxDays } }];

  test("deletes whole days that are over, and says what was there", async () => {
    await using filled = await openFilledArchive();
    const [first, second] = await fill(filled, 2, DAY_MS);
    const [gone] = filled.archive.state.files(tenant);
    const now = () => toUnixMs("2026-11-04T00:00:00Z");
    await using maintenance = maintenanceOf(filled, { now, tenants: keep(2) });
    await maintenance.run();
    expect(maintenance.errors).toEqual([]);
    expect(filled.archive.state.records(tenant)).toEqual([
      {
        kind: "retention_deleted",
        at: "2026-11-04T00:00:00.000Z",
        day: "2026-11-01",
        files: [{ key: gone!.key, sha256: gone!.sha256, segments: 1, events: 3 }],
      },
    ]);
    await expect(textOf(filled, first!)).rejects.toMatchObject({ code: "generation_not_found" });
    expect(await textOf(filled, second!)).toContain("text 1");
    expect(filled.archive.state.tree(tenant).size).toBe(3);
    expect(await verifyStore(filled.archive.store)).toEqual([]);
  });

  test("deletes nothing a moment too early, nor without a maximum", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, 2, DAY_MS);
    const now = () => plusMs(toUnixMs("2026-11-04T00:00:00Z"), -1);
    await using early = maintenanceOf(filled, { now, tenants: keep(2) });
    await early.run();
    await using never = maintenanceOf(filled, {
      now: () => plusMs(START, 10_000 * DAY_MS),
      tenants: () => [{ id: tenant, audit: { minDays: 0 } }],
    });
    await never.run();
    expect(filesOf(filled)).toHaveLength(2);
  });

  test.each([
    ["one generation", (ref: GenerationRef) => ({ generation: ref.generation })],
    ["one subject", () => ({ subject: "person-0" })],
  ])("leaves the files of a day that hold %s under a legal hold", async (_, what) => {
    await using filled = await openFilledArchive();
    const [held, other] = await fill(filled, 2, HOUR_MS);
    await setHold(filled, { ...who, ...what(held!) });
    const now = () => plusMs(START, 10 * DAY_MS);
    await using maintenance = maintenanceOf(filled, { now, tenants: keep(1) });
    await maintenance.run();
    expect(await textOf(filled, held!)).toContain("text 0");
    await expect(textOf(filled, other!)).rejects.toMatchObject({ code: "generation_not_found" });
  });

  test("deletes nothing of a tenant that is held", async () => {
    await using filled = await openFilledArchive();
    await fill(filled, 2, HOUR_MS);
    await setHold(filled, who);
    await using maintenance = maintenanceOf(filled, {
      now: () => plusMs(START, 10 * DAY_MS),
      tenants: keep(1),
    });
    await maintenance.run();
    expect(filled.archive.state.files(tenant).length).toBeGreaterThan(0);
    expect(filled.archive.state.records(tenant).map(({ kind }) => kind)).toEqual(["hold_set"]);
  });

  test("destroys the keys of generations that are wholly gone, and of no others", async () => {
    await using filled = await openFilledArchive();
    const [gone, goesOn] = [createRef(), createRef()];
    for (const ref of [gone, goesOn]) filled.log(ref, [requested(ref), delta("x")], START * 1_000);
    await filled.commit();
    filled.event(goesOn, 2, completed(), (START + 5 * DAY_MS) * 1_000);
    await filled.commit();
    const headers = (await Array.fromAsync(readStoredHeaders(filled.archive.store, tenant, vi.fn()))).flatMap(
      (file) => file.headers,
    );
    const kidOf = (ref: GenerationRef) =>
      headers.find(({ generation }) => generation === ref.generation)!.kid;
    await using maintenance = maintenanceOf(filled, {
      now: () => plusMs(START, 4 * DAY_MS),
      tenants: keep(1),
    });
    await maintenance.run();
    expect(await filled.keyring.open(tenant, kidOf(gone))).toBe("destroyed");
    expect(await filled.keyring.open(tenant, kidOf(goesOn))).toMatchObject({ kid: kidOf(goesOn) });
  });

  test("leaves the key of a tenant's own records when all of these are gone", async () => {
    await using filled = await openFilledArchive();
    const at = new Date(START).toISOString();
    filled.ops({ tenant } as GenerationRef, { kind: "access", at, by: "ann", call: "list" });
    await filled.commit();
    const [file] = await Array.fromAsync(readStoredHeaders(filled.archive.store, tenant, vi.fn()));
    const { kid, generation } = file!.headers[0]!;
    await using maintenance = maintenanceOf(filled, { now: () => START, tenants: keep(1) });
    await maintenance.run();
    expect(generation).toBe("-");
    expect(filesOf(filled)).toEqual([]);
    expect(await filled.keyring.open(tenant, kid)).toMatchObject({ kid });
  });
});
