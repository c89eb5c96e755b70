import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createFileStore, openArchive, openKeyring } from "@reprise/archive";
import { parseTenantId } from "@reprise/protocol";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { MASTER_KEY } from "../testing/test-keys.ts";
import { verifyStore } from "../testing/verify-store.ts";
import { openCopyingWorld } from "../testing/worlds/copied-blobs.ts";
import { startCrashingArchiver } from "../testing/worlds/start-crashing-archiver.ts";
import { openWrittenLogs, SHARDS } from "../testing/written-logs.ts";
import { sweepCopies } from "./sweep-copies.ts";

const acme = parseTenantId("acme");
/** Keys, two parts, a file, a commit and its checkpoint: each before and after. */
const CALLS = 8;

test("an archiver that is killed at every step of a copy leaves each blob in the archive once, and what it left is swept", async () => {
  await using logs = await openWrittenLogs([], 0);
  const { url, broker, publish } = logs;
  await using temporary = await createTempDir("copy-crashes");
  const dir = temporary.path;
  const store = createFileStore(join(dir, "archive"));
  const openContext = async () => ({
    archive: await openArchive({ store, name: "test" }),
    keyring: await openKeyring({ store: createFileStore(join(dir, "keys")), masterKey: MASTER_KEY }),
  });
  const opened = openCopyingWorld({ live: { broker, log: { publish } }, store, openContext });
  const made = new Map<string, Buffer>();
  let unnamed = 0;
  for (let round = 0; round < 2 * CALLS; round++) {
    const content = randomBytes(10_000);
    const blob = await opened.make(acme, content, { subject: `person-${round % 3}` });
    made.set(blob.id, content);
    await opened.tell(acme, blob);
    const calls = 1 + Math.floor(round / 2);
    const when = round % 2 === 0 ? "before" : "after";
    const { exited } = startCrashingArchiver({ url, dir, shards: SHARDS, calls, when });
    expect(await exited).toEqual([null, "SIGKILL"]);
    const named = new Set((await opened.copies(acme)).map(({ key }) => key));
    const parts = await opened.parts();
    unnamed += parts.filter((key) => !named.has(key.slice(0, key.lastIndexOf("/")))).length;
  }
  // Some have died between a copy and its commit.
  expect(unnamed).toBeGreaterThan(0);
  const { child, exited } = startCrashingArchiver({ url, dir, shards: SHARDS, calls: 0, when: "before" });
  await opened.archived();
  child.kill("SIGTERM");
  await exited;
  const copies = await opened.copies(acme);
  expect(copies.map(({ blob }) => blob).toSorted()).toEqual([...made.keys()].toSorted());
  for (const copy of copies) expect(await opened.contentOf(acme, copy)).toEqual(made.get(copy.blob));
  expect((await verifyStore(store)).filter(({ kind }) => kind !== "note")).toEqual([]);
  const { archive } = await openContext();
  await sweepCopies({ archive, store });
  expect(await opened.parts()).toHaveLength(2 * made.size);
  expect((await verifyStore(store)).filter(({ kind }) => kind !== "note")).toEqual([]);
});
