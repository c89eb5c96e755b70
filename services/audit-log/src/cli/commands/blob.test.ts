import { hash, randomBytes } from "node:crypto";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openBroker, readStreamMessages } from "@reprise/broker";
import { asStreamSeq, decodeOpsRecord, OPS_STREAM } from "@reprise/protocol";
import { createTempDir, startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { addCopy } from "../../testing/add-copy.ts";
import { openFilledArchive } from "../../testing/filled-archive.ts";
import { runOn } from "../../testing/run-command.ts";
import { EXIT } from "../command.ts";
import { blob } from "./blob.ts";
import { verify } from "./verify.ts";

const ID = "blob_0123456789abcdefghijklmnop";
const CONTENT = randomBytes(5_000_000);

async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const filled = stack.use(await openFilledArchive());
  const copy = await addCopy(filled, CONTENT, { tenant: "acme", blob: ID, subject: "ann" });
  const { path } = stack.use(await createTempDir("blob"));
  const kept = stack.move();
  const out = join(path, "content");
  return { filled, copy, path, out, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("writes the content to a file, whole, and says what it is", async () => {
  await using world = await openWorld();
  const { code, out, err } = await runOn(world.filled, blob, ID, "--out", world.out);
  expect([code, err]).toEqual([EXIT.fine, expect.stringContaining("recorded nowhere")]);
  expect(await readFile(world.out)).toEqual(CONTENT);
  const sha256 = hash("sha256", CONTENT, "hex");
  const said = { blob: ID, type: "image/png", bytes: CONTENT.length, sha256, tenant: "acme" };
  expect(JSON.parse(out)).toMatchObject(said);
  expect(await readdir(world.path)).toEqual(["content"]);
});

test("an archive that was moved has its copies with it", async () => {
  await using world = await openWorld();
  const { filled, path } = world;
  const dir = join(path, "moved");
  await cp(filled.dir, dir, { recursive: true });
  await rm(filled.dir, { recursive: true });
  const moved = { ...filled, dir };
  expect(await runOn(moved, blob, ID, "--out", world.out)).toMatchObject({ code: EXIT.fine });
  expect(await readFile(world.out)).toEqual(CONTENT);
  expect((await runOn(moved, verify)).out).toContain("1 copies of blobs");
});

test("records that someone has looked, before anything is written", async () => {
  await using world = await openWorld();
  await using server = await startTestBroker();
  await using broker = await openBroker({
    url: server.url,
    name: "test",
    shards: 1,
    replicas: 1,
    retentionMs: 3_600_000,
  });
  const { code } = await runOn(world.filled, blob, ID, "--out", world.out, "--nats", server.url);
  expect(code).toBe(EXIT.fine);
  const request = { afterStreamSeq: asStreamSeq(0), maxMessages: 10, maxBytes: 100_000 };
  const records = await readStreamMessages(broker.reads, OPS_STREAM, request);
  expect(records.map(({ payload }) => decodeOpsRecord(payload))).toMatchObject([
    { kind: "access", call: "read", query: { blob: ID } },
  ]);
  const nowhere = join(world.path, "other");
  const away = runOn(world.filled, blob, ID, "--out", nowhere, "--nats", "nats://127.0.0.1:1");
  await expect(away).rejects.toMatchObject({ code: "broker_unavailable" });
  expect(await readdir(world.path)).toEqual(["content"]);
});

test("leaves no file of content that was changed, and the error says so", async () => {
  await using world = await openWorld();
  const part = join(world.filled.dir, `${world.copy.key}/000002`);
  const bytes = await readFile(part);
  bytes[100]! ^= 1;
  await writeFile(part, bytes);
  await expect(runOn(world.filled, blob, ID, "--out", world.out)).rejects.toMatchObject({
    code: "archive_corrupt",
  });
  expect(await readdir(world.path)).toEqual([]);
});

test("overwrites nothing", async () => {
  await using world = await openWorld();
  await writeFile(world.out, "mine");
  await expect(runOn(world.filled, blob, ID, "--out", world.out)).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("is there already"),
  });
  expect(await readFile(world.out, "utf8")).toBe("mine");
  expect(await readdir(world.path)).toEqual(["content"]);
});

test("says of a blob that is not there why it is not", async () => {
  await using world = await openWorld();
  const { filled, copy, out } = world;
  const read = (...args: string[]) => runOn(filled, blob, ...args, "--out", out);
  await expect(read("blob_unknown")).rejects.toThrow("does not hold the content of blob_unknown");
  await expect(read(ID, "--tenant", "beta")).rejects.toThrow("does not hold the content");
  await expect(read()).rejects.toMatchObject({ code: "invalid_request" });
  await filled.keyring.destroy("acme", [copy.kid]);
  await expect(read(ID)).rejects.toThrow("is destroyed");
  const at = new Date().toISOString();
  await filled.archive.append(() => ({
    tenants: [
      {
        tenant: "acme",
        leaves: [],
        files: [],
        removes: [],
        records: [
          { kind: "key_destroyed", at, id: "era_1", kids: [copy.kid] },
          { kind: "blob_missed", at, reason: "gone", blob: "blob_missed" },
        ],
      },
    ],
  }));
  await expect(read(ID)).rejects.toThrow("was erased, or its time is over");
  await expect(read("blob_missed")).rejects.toThrow("could not be archived: it was gone");
});
