import { randomBytes } from "node:crypto";
import * as blobs from "@reprise/blobs";
import { type BlobId, type GenerationId, isBlobId, parseTenantId, uploadSubject } from "@reprise/protocol";
import { completed, createRef, delta, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openLifecycleWorld, SETTLE_MS, writeLog } from "../testing/worlds/lifecycle-world.ts";
import { eraseSubject } from "./erasure/erase.ts";
import { setHold } from "./hold.ts";

const tenant = parseTenantId("acme");
const who = { tenant, by: "ann", reason: "asked for" };

test("an erasure takes what its generations have made: those of a subject, and that of one which has none", async () => {
  await using world = await openLifecycleWorld();
  const { broker, log } = world.live;
  const storage = blobs.createBlobStorage({ broker, publish: log.publish });
  const make = async (generation: GenerationId, subject: string | undefined) => {
    const upload = await blobs.beginUpload(storage, tenant, {
      type: "audio/pcm",
      length: undefined,
      maxBytes: 1_000_000,
      quotaBytes: 100_000_000,
      by: "inference-worker",
      subject,
      generation,
      ttlSeconds: 3_600,
    });
    const writer = blobs.createWriter(storage, upload);
    await writer.write(Buffer.from("sound"));
    await writer.flush();
    return (await blobs.finishUpload(storage, upload, writer.sum())).blob.id;
  };
  const [ofAnn, alone, other] = [createRef(), createRef(), createRef()];
  const said = [started(), delta("words"), completed()];
  await writeLog(log, ofAnn, { subject: "ann" }, said);
  for (const ref of [alone, other]) await writeLog(log, ref, {}, said);
  const [anns, alones, others] = [
    await make(ofAnn.generation, "ann"),
    await make(alone.generation, undefined),
    await make(other.generation, undefined),
  ];
  expect(new Set([anns, alones, others]).size).toBe(3);
  const isThere = (id: BlobId) =>
    blobs.findBlob(storage, tenant, id).then(
      () => true,
      () => false,
    );
  const settle = { settleMs: SETTLE_MS };
  const context = await world.openContext();
  await eraseSubject(context, { ...who, generation: alone.generation }, settle);
  expect([await isThere(anns), await isThere(alones), await isThere(others)]).toEqual([true, false, true]);
  await eraseSubject(await world.openContext(), { ...who, subject: "ann" }, settle);
  expect([await isThere(anns), await isThere(others)]).toEqual([false, true]);
});

test("an erasure takes a subject's blobs and unfinished uploads, and no others", async () => {
  await using world = await openLifecycleWorld();
  const { broker, log } = world.live;
  const storage = blobs.createBlobStorage({ broker, publish: log.publish });
  const begin = (subject: string | undefined) =>
    blobs.beginUpload(storage, tenant, {
      type: "application/octet-stream",
      length: undefined,
      maxBytes: 1_000_000,
      quotaBytes: 100_000_000,
      by: "ann",
      subject,
      ttlSeconds: 3_600,
    });
  const store = async (subject: string | undefined) => {
    const upload = await begin(subject);
    const source = async function* () {
      yield randomBytes(200_000);
    };
    const sum = await blobs.receiveContent(storage, upload, source());
    return (await blobs.finishUpload(storage, upload, sum)).blob;
  };
  const theirs = [await store("ann"), await store("ann")];
  const others = [await store("bob"), await store(undefined)];
  const unfinished = await begin("ann");
  const find = async ({ id }: { id: string }) => {
    if (!isBlobId(id)) throw new TypeError("not a blob's id");
    return blobs.findBlob(storage, tenant, id);
  };

  const context = await world.openContext();
  const settle = { settleMs: SETTLE_MS };
  await setHold(context, { tenant, subject: "ann", by: "eve", reason: "a case" });
  await expect(eraseSubject(context, { ...who, subject: "ann" }, settle)).rejects.toMatchObject({
    code: "erasure_refused",
  });
  expect(await find(theirs[0]!)).toMatchObject({ row: theirs[0] });

  const free = await world.openContext();
  const other = await eraseSubject(free, { ...who, subject: "bob" }, settle);
  expect(other).toEqual({ kind: "blobs", blobs: 2 });
  await expect(find(others[0]!)).rejects.toMatchObject({ code: "blob_not_found" });
  expect(await find(others[1]!)).toMatchObject({ row: others[1] });
  expect(await storage.rows.read(uploadSubject(tenant, unfinished.row.id))).toMatchObject({
    row: unfinished.row,
  });
  const kept = await Array.fromAsync(storage.chunks.list(), ({ upload }) => upload);
  expect(kept.toSorted()).toEqual([...theirs, others[1]!].map(({ chunks }) => chunks).toSorted());
});
