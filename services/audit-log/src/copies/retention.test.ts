import type { BlobStore } from "@reprise/archive";
import { plusMs, toUnixMs } from "@reprise/protocol";
import { completed, createRef, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { setHold } from "../lifecycle/hold.ts";
import { startMaintenance } from "../lifecycle/maintenance/maintenance.ts";
import { addCopy } from "../testing/add-copy.ts";
import { type FilledArchive, openFilledArchive } from "../testing/filled-archive.ts";
import { verifyStore } from "../testing/verify-store.ts";

const { tenant } = createRef();
const DAY_MS = 86_400_000;
const START = toUnixMs("2026-11-01T10:00:00Z");
const AT = new Date(START).toISOString();
const CONTENT = Buffer.from("content");

async function maintain({ archive, keyring }: FilledArchive, days: number): Promise<void> {
  const errors: unknown[] = [];
  const maintenance = startMaintenance({
    archive,
    keyring,
    store: archive.store,
    live: undefined,
    holder: "test",
    tenants: () => [{ id: tenant, audit: { minDays: 0, maxDays: 7 } }],
    now: () => plusMs(START, days * DAY_MS),
    onError: (error) => errors.push(error),
  });
  await maintenance.run();
  await maintenance.close();
  expect(errors).toEqual([]);
}

const blobsIn = ({ archive }: FilledArchive) =>
  [...archive.state.copies(tenant).values()].map(({ blob }) => blob).toSorted();
const partsIn = async (store: BlobStore) =>
  new Set((await Array.fromAsync(store.list("blob/"))).map(({ key }) => key.split("/")[2]));

/** The archive has come to the place in OPS that the copies are of. */
async function openWorld() {
  const filled = await openFilledArchive();
  filled.ops(createRef(), { kind: "erased", at: AT, erasure: "era_0" });
  await filled.commit();
  return filled;
}

test("copies are deleted when their day is over, with those parts that no commit names", async () => {
  await using filled = await openWorld();
  const { archive, keyring } = filled;
  await addCopy(filled, CONTENT, { tenant, blob: "blob_old", at: AT });
  const { generation } = createRef();
  const made = await addCopy(filled, CONTENT, { tenant, blob: "blob_made", at: AT, generation });
  const later = new Date(START + 5 * DAY_MS).toISOString();
  await addCopy(filled, CONTENT, { tenant, blob: "blob_new", at: later, subject: "ann" });
  await archive.store.put(`blob/tenant=${tenant}/blob_left/0-1-0123456789abcdef/000000`, CONTENT);
  const ahead = `blob/tenant=${tenant}/blob_ahead/0-2-0123456789abcdef/000000`;
  await archive.store.put(ahead, CONTENT);
  await maintain(filled, 7);
  expect(blobsIn(filled)).toEqual(["blob_made", "blob_new", "blob_old"]);
  await maintain(filled, 8);
  expect(blobsIn(filled)).toEqual(["blob_new"]);
  expect(await keyring.open(tenant, made.kid)).toBe("destroyed");
  // What the archive has not come to yet may still be committed.
  expect(await partsIn(archive.store)).toEqual(new Set(["blob_new", "blob_ahead"]));
  expect((await verifyStore(archive.store)).filter(({ kind }) => kind !== "note")).toEqual([]);
});

test("legal holds keep copies: those of the subject, of the generation, and of what is the subject's", async () => {
  await using filled = await openWorld();
  const [held, anns, free] = [createRef(), createRef(), createRef()];
  filled.log(held, [requested(held), completed()], START * 1_000);
  filled.log(anns, [requested(anns, { subject: "ann" }), completed()], START * 1_000);
  filled.log(free, [requested(free), completed()], START * 1_000);
  await filled.commit();
  await addCopy(filled, CONTENT, { tenant, blob: "blob_uploaded", at: AT, subject: "ann" });
  await addCopy(filled, CONTENT, { tenant, blob: "blob_held", at: AT, generation: held.generation });
  await addCopy(filled, CONTENT, { tenant, blob: "blob_anns", at: AT, generation: anns.generation });
  await addCopy(filled, CONTENT, { tenant, blob: "blob_free", at: AT, generation: free.generation });
  const { archive, keyring } = filled;
  const context = { archive, keyring, store: archive.store, live: undefined };
  const who = { tenant, by: "eve", reason: "a case" };
  await setHold(context, { ...who, subject: "ann" });
  await setHold(context, { ...who, generation: held.generation });
  await maintain(filled, 30);
  expect(blobsIn(filled)).toEqual(["blob_anns", "blob_held", "blob_uploaded"]);
  expect((await verifyStore(archive.store)).filter(({ kind }) => kind !== "note")).toEqual([]);
});
