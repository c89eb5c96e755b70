import { randomBytes } from "node:crypto";
import { access, cp } from "node:fs/promises";
import { basename, join } from "node:path";
import { createClient } from "@reprise/client";
import { blobsOf } from "@reprise/client/blobs";
import { takeBackup } from "@reprise/stream";
import { parseCursor } from "@reprise/protocol";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { reprise } from "./testing/archive.ts";
import { startCluster } from "./testing/cluster.ts";
import { TENANT } from "./testing/moderated.ts";

/* The backup and restore of docs/operations/backup.md. */

/** A running generation outlasts the backup and the loss. */
const LONG = { model: "sim", input: "Continue.", options: { tokens: 600, tokens_per_second: 30 } };
const SHORT = { ...LONG, options: { tokens: 40 } };
const ASLEEP_AFTER = 20;
/** Events that a reader gets after the backup, and the backup lacks. */
const BEYOND = 20;
/** A folder that refers to another is copied first: what it refers to was stored before, and never changes. */
const FOLDERS = ["audit/_log", "audit", "audit-keys", "analytics/generations", "analytics"] as const;
/** Codes for a reader whose last events are lost. */
const LOST = new Set(["events_lost", "cursor_invalid"]);

/** A client of one generation, which keeps its events and its cursor. */
class Phone {
  readonly id: string;
  readonly seen = new Map<number, string>();
  cursor: string | undefined;

  constructor(id: string) {
    this.id = id;
  }

  get seq(): number {
    return this.cursor === undefined ? 0 : parseCursor(this.cursor).seq;
  }

  /** Reads on from its cursor, up to `most` events. Returns `ended`, `left` or the code of an error. */
  async read(url: string, apiKey: string, most = Infinity, signal?: AbortSignal): Promise<string> {
    const after = this.cursor === undefined ? {} : { after: this.cursor };
    const { generations } = createClient({ url, apiKey });
    const stream = generations.stream(this.id, { ...after, ...(signal && { signal }) });
    try {
      for await (const event of stream) {
        expect(event.seq).toBe(this.seq + 1);
        this.seen.set(event.seq, JSON.stringify(event));
        this.cursor = stream.cursor;
        if (this.seen.size >= most) return "left";
      }
      return signal?.aborted ? "left" : "ended";
    } catch (error) {
      return signal?.aborted ? "left" : ((error as { code?: string }).code ?? String(error));
    }
  }
}

/** Runs a platform, backs it up while it writes, and kills it. */
async function loseEverything({ backupDir, dataDir }: { backupDir: string; dataDir: string }) {
  await using cluster = await startCluster({ ackWaitMs: 5_000 });
  const [{ url }, ...services] = await Promise.all([
    cluster.startDelivery(),
    cluster.startWorker(),
    cluster.startAuditLog(),
    cluster.startAnalytics(),
  ]);
  const apiKey = cluster.keys[TENANT]!;
  const client = createClient({ url, apiKey });
  const ended = await client.generations.create(SHORT, { idempotencyKey: "ended" });
  const { text } = await client.generations.stream(ended.id).done();
  const content = randomBytes(600_000);
  const blob = (await blobsOf(client).upload(content)).id;
  const folders = FOLDERS.map((folder) => join(cluster.dataDir, folder));
  await expect
    .poll(() =>
      Promise.all(
        folders.map((folder) =>
          access(folder).then(
            () => true,
            () => false,
          ),
        ),
      ),
    )
    .not.toContain(false);
  const running = await Promise.all(Array.from({ length: 4 }, () => client.generations.create(LONG)));
  const phones = running.map(({ id }) => new Phone(id));
  // Half of the phones leave before the backup and keep their cursors.
  await Promise.all(phones.slice(0, 2).map((phone) => phone.read(url, apiKey, ASLEEP_AFTER)));
  const over = new AbortController();
  const reading = phones.slice(2).map((phone) => phone.read(url, apiKey, Infinity, over.signal));

  for (const folder of FOLDERS)
    await cp(join(cluster.dataDir, folder), join(dataDir, folder), {
      recursive: true,
      force: false,
      filter: (path) => basename(path) !== ".tmp",
    });
  await takeBackup(cluster.broker, { dir: backupDir });
  const young = await client.generations.create(LONG);
  const atBackup = phones.slice(2).map(({ seq }) => seq);
  await expect.poll(() => phones.slice(2).every(({ seq }, i) => seq >= atBackup[i]! + BEYOND)).toBe(true);
  over.abort();
  await Promise.all(reading);
  for (const service of services) service.kill("SIGKILL");
  await Promise.all(services.map(({ exited }) => exited));
  const { keys, auditKeys } = cluster;
  return { keys, auditKeys, ended: ended.id, text, blob, content, phones, young: young.id };
}

test("a platform that is backed up under load and destroyed continues from its backup", async () => {
  await using dir = await createTempDir("restore");
  const backup = { backupDir: join(dir.path, "backup"), dataDir: join(dir.path, "copy") };
  const lost = await loseEverything(backup);

  await using cluster = await startCluster({ ackWaitMs: 5_000, restored: { lost, ...backup } });
  const restored = await Promise.all(lost.phones.map(({ id }) => cluster.readLog(TENANT, id)));
  const [{ url }, , auditLog] = await Promise.all([
    cluster.startDelivery(),
    cluster.startWorker(),
    cluster.startAuditLog(),
    cluster.startAnalytics(),
  ]);
  const apiKey = cluster.keys[TENANT]!;
  const client = createClient({ url, apiKey });
  const outcomes = await Promise.all(
    lost.phones.map(async (phone, i) => {
      const isKept = restored[i]![phone.seq] === phone.seen.get(phone.seq);
      const outcome = await phone.read(url, apiKey);
      if (isKept) return outcome;
      expect([...LOST]).toContain(outcome);
      const again = new Phone(phone.id);
      expect(await again.read(url, apiKey)).toBe("ended");
      lost.phones[i] = again;
      return "told";
    }),
  );
  // Phones that left resume; those that read on were ahead of the backup.
  expect(outcomes).toEqual(["ended", "ended", "told", "told"]);
  for (const { id, seen } of lost.phones) {
    const [, ...stored] = await cluster.readLog(TENANT, id);
    expect([...seen.values()]).toEqual(stored);
  }

  const again = await client.generations.create(SHORT, { idempotencyKey: "ended" });
  expect(again).toMatchObject({ id: lost.ended, text: lost.text });
  await expect(client.generations.get(lost.young)).rejects.toMatchObject({ code: "generation_not_found" });
  const { bytes } = await blobsOf(client).download(lost.blob);
  expect(Buffer.compare(bytes, lost.content)).toBe(0);
  // Ids are made with the tenant's key: the same content has the same id.
  expect(await blobsOf(client).upload(lost.content)).toMatchObject({ id: lost.blob });
  const usage = async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    return (await fetch(`${url}/v1/usage?by=model`, { headers })).json();
  };
  await expect.poll(usage).toMatchObject({ data: [{ generations: 1 + lost.phones.length }] });
  await auditLog.stop();
  expect(await reprise(cluster, "verify")).toMatch(/^fine: /m);
});
