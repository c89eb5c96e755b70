import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type BlobStore, SNAPSHOT_KEY } from "@reprise/archive";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { unwrapIndependently } from "../../testing/independent/segments.ts";
import { type IndependentVerdict, verifyIndependently } from "../../testing/independent/verifier.ts";
import { FORGERIES, HIDDEN_GAP } from "./forgeries.ts";
import { createOverlay } from "./overlay-store.ts";
import { RESEALED } from "./resealed.ts";
import type { DrilledArchive } from "./drilled-archive.ts";
import { cosignEnd, judge } from "./run-drill.ts";
import { makeSmallArchive, type SmallArchive } from "./small-archive.ts";
import type { Tampering } from "./tamperings.ts";
import { TAMPERINGS } from "./tamperings.ts";

const whole = await makeSmallArchive();
const gap = await makeSmallArchive({ gapAt: 40 });

/** What both verifiers say of an archive, who are given what a witness has kept of another state of it, and its keys when they are to open it. */
async function verdictsOf(archive: SmallArchive, original: DrilledArchive, isSealed = false) {
  const witnessed = await cosignEnd(original.store);
  await using temp = await createTempDir("independent");
  await using keys = await createTempDir("independent-keys");
  await unpack(archive.store, temp.path);
  await unpack(archive.keys.store, keys.path);
  const { keyring: _, ...unopened } = archive;
  const { verdict, because } = await verifyIndependently({
    dir: temp.path,
    name: archive.name,
    vkeys: [archive.vkey.vkey],
    kept: witnessed.note,
    ...(isSealed && {
      keyOf: (header) => unwrapIndependently(keys.path, archive.keys.masterKey, header),
    }),
  });
  const ours = await judge("", "fine", isSealed ? archive : unopened, witnessed);
  return { ours: ours.verdict, independent: verdict, because };
}

async function tamper(original: SmallArchive, tampering: Tampering): Promise<SmallArchive> {
  const store = createOverlay(original.store);
  await tampering.apply(store, original);
  return { ...original, store };
}

async function unpack(store: BlobStore, dir: string): Promise<void> {
  for await (const { key } of store.list("")) {
    const path = join(dir, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, (await store.get(key))!);
  }
}

describe("a verifier that shares no code with the writer", () => {
  test.each<[string, SmallArchive, IndependentVerdict]>([
    ["that is as it was written", whole, "fine"],
    ["with a gap", gap, "gap"],
  ])("says the same of an archive %s, all of which it opens", async (_, archive, expected) => {
    const verdicts = await verdictsOf(archive, archive, true);
    expect(verdicts).toMatchObject({ ours: expected, independent: expected });
  });

  // It does not look at snapshots, which follow from the commits.
  const seen = [...TAMPERINGS, ...FORGERIES].filter(({ name }) => !name.endsWith("the snapshot"));
  test.each(seen.map((tampering) => [tampering.name, tampering] as const))(
    "says the same when %s",
    async (_, tampering) => {
      const { expected = "tampered" } = tampering;
      const archive = await tamper(whole, tampering);
      await archive.store.delete(SNAPSHOT_KEY);
      expect(await verdictsOf(archive, whole)).toMatchObject({ ours: expected, independent: expected });
    },
  );

  test("says the same when messages are not those of their root: nothing without the keys", async () => {
    const archive = await tamper(whole, RESEALED);
    await archive.store.delete(SNAPSHOT_KEY);
    const verdicts = await verdictsOf(archive, archive, true);
    expect(verdicts).toEqual({ ours: "tampered", independent: "tampered", because: "12.1: root" });
    expect(await verdictsOf(archive, archive)).toMatchObject({ ours: "fine", independent: "fine" });
  });

  test("says the same when a gap is hidden", async () => {
    const archive = await tamper(gap, HIDDEN_GAP);
    expect(await verdictsOf(archive, gap)).toMatchObject({ ours: "tampered", independent: "tampered" });
  });

  test("can't tell without a key, like the other", async () => {
    await using temp = await createTempDir("independent");
    await unpack(whole.store, temp.path);
    const { verdict } = await verifyIndependently({ dir: temp.path, name: whole.name, vkeys: [] });
    expect(verdict).toBe("unknown");
  });
});
