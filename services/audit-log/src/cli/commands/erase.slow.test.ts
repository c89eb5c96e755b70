import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveReader, createFileStore, createNoteKey, openKeyring } from "@reprise/archive";
import { openBroker, publishedHeaders, readStreamMessages } from "@reprise/broker";
import { decodeOpsRecord, type GenerationRef, OPS_STREAM, asStreamSeq } from "@reprise/protocol";
import {
  completed,
  createRef,
  createTempDir,
  delta,
  PATIENCE_MS,
  requested,
  startTestBroker,
} from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { type FilledArchive, openFilledArchive } from "../../testing/filled-archive.ts";
import { runOn } from "../../testing/run-command.ts";
import { MASTER_KEY, SIGNING_SEED } from "../../testing/test-keys.ts";
import { EXIT } from "../command.ts";
import { erase } from "./erase.ts";
import { hold } from "./hold.ts";
import { verify } from "./verify.ts";

const REFUSED = { code: "erasure_refused" };
const reason = ["--tenant", "acme", "--reason", "a test"];

/** An archive with its signing key, and two generations of two people. */
async function openWorld(subjects: readonly (string | undefined)[] = ["ann", "bob"]) {
  await using stack = new AsyncDisposableStack();
  const filled = stack.use(await openFilledArchive());
  await mkdir(filled.keysDir, { recursive: true });
  const signingKey = join(filled.keysDir, "signing.key");
  await writeFile(signingKey, createNoteKey("test", SIGNING_SEED).skey, { mode: 0o600 });
  const refs: GenerationRef[] = [];
  for (const subject of subjects) {
    const ref = createRef();
    const request = subject === undefined ? {} : { subject };
    filled.log(ref, [requested(ref, request), delta("secret"), completed()], Date.now() * 1_000);
    refs.push(ref);
  }
  await filled.commit();
  const kept = stack.move();
  return { ...filled, refs, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Returns the text that another process reads, which has no keys in memory. */
async function textOf({ archive, keysDir }: FilledArchive, ref: GenerationRef): Promise<string> {
  await archive.refresh();
  const store = createFileStore(join(keysDir, "wrapped"));
  const reader = new ArchiveReader({ archive, keyring: await openKeyring({ store, masterKey: MASTER_KEY }) });
  return Buffer.concat((await Array.fromAsync(reader.events(ref))).map(({ payload }) => payload)).toString();
}

/** @returns the tenants file */
async function writeTenants(dir: string, tenant: { id: string; audit?: object }): Promise<string> {
  const file = join(dir, "tenants.json");
  const keys = [{ secret: "rk_acme_0123456789abcdef", roles: ["create"] }];
  await writeFile(file, JSON.stringify({ tenants: [{ ...tenant, keys }] }));
  return file;
}

describe("reprise-audit erase", () => {
  it("erases a generation everywhere, prints a certificate, and leaves an archive that verifies", async () => {
    await using world = await openWorld([undefined, "bob"]);
    await using server = await startTestBroker();
    const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
    await using broker = await openBroker({ url: server.url, name: "test", ...topology });
    const [gone, kept] = world.refs;
    const what = ["--generation", gone!.generation, ...reason, "--by", "ann", "--despite-minimum"];
    const { code, out } = await runOn(world, erase, ...what, "--nats", server.url);
    expect(code).toBe(EXIT.fine);
    expect(JSON.parse(out)).toMatchObject({
      certificate: "reprise.erasure",
      tenant: "acme",
      by: "ann",
      reason: "a test",
      generations: [gone!.generation],
      commits: { requested: 1, destroyed: 4 },
    });
    await expect(textOf(world, gone!)).rejects.toMatchObject({ code: "generation_erased" });
    expect(await textOf(world, kept!)).toContain("secret");
    expect(await runOn(world, verify)).toMatchObject({ code: EXIT.fine });
    const batch = { afterStreamSeq: asStreamSeq(0), maxMessages: 10, maxBytes: 100_000 };
    const records = await readStreamMessages(broker.reads, OPS_STREAM, batch);
    expect(records.map(({ payload }) => decodeOpsRecord(payload))).toMatchObject([
      { kind: "access", call: "erase", query: { generation: gone!.generation } },
      { kind: "erased" },
    ]);
  });

  it("without a broker destroys the keys, and says that it is not finished", async () => {
    await using world = await openWorld();
    const { code, err } = await runOn(world, erase, "--subject", "ann", ...reason, "--despite-minimum");
    expect([code, err]).toEqual([EXIT.unknown, expect.stringContaining("the keys are destroyed")]);
    await expect(textOf(world, world.refs[0]!)).rejects.toMatchObject({ code: "generation_erased" });
    expect(await runOn(world, verify)).toMatchObject({ code: EXIT.fine });
  });

  it("erases nothing without the time for which the tenant must keep everything", async () => {
    await using world = await openWorld();
    await expect(runOn(world, erase, "--subject", "ann", ...reason)).rejects.toMatchObject(REFUSED);
    expect(await textOf(world, world.refs[0]!)).toContain("secret");
  });

  it("erases nothing that the tenants file says must be kept", async () => {
    await using world = await openWorld();
    await using dir = await createTempDir("tenants");
    const file = await writeTenants(dir.path, { id: "acme", audit: { min_days: 7 } });
    const refused = runOn(world, erase, "--subject", "ann", ...reason, "--tenants-file", file);
    await expect(refused).rejects.toMatchObject(REFUSED);
    expect(await textOf(world, world.refs[0]!)).toContain("secret");
  });

  it("erases nothing of a tenant that the tenants file does not have", async () => {
    await using world = await openWorld();
    await using dir = await createTempDir("tenants");
    const file = await writeTenants(dir.path, { id: "beta" });
    const refused = runOn(world, erase, "--subject", "ann", ...reason, "--tenants-file", file);
    await expect(refused).rejects.toMatchObject(REFUSED);
    expect(await textOf(world, world.refs[0]!)).toContain("secret");
  });

  it("obeys the broker's record, not a file that says less, and nothing but that record when it can't be used", async () => {
    await using world = await openWorld();
    await using server = await startTestBroker();
    const topology = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
    await using broker = await openBroker({ url: server.url, name: "test", ...topology });
    await using dir = await createTempDir("tenants");
    const file = await writeTenants(dir.path, { id: "acme", audit: { min_days: 0 } });
    const sources = ["--tenants-file", file, "--nats", server.url];
    const erasing = () => runOn(world, erase, "--subject", "ann", ...reason, ...sources);
    const acme = { version: 1, id: "acme", created_at: "2026-11-22T12:00:00.000Z", policy: {}, keys: [] };
    const record = { ...acme, signing_keys: [], revocations: [], audit: { min_days: 7 } };
    const store = (text: string) =>
      broker.main.request("$KV.TENANTS.acme", text, { timeout: PATIENCE_MS, headers: publishedHeaders() });
    await store(JSON.stringify(record));
    await expect(erasing()).rejects.toMatchObject(REFUSED);
    await store("{}");
    await expect(erasing()).rejects.toMatchObject(REFUSED);
    expect(await textOf(world, world.refs[0]!)).toContain("secret");
    await store(JSON.stringify({ ...record, audit: {} }));
    expect(await erasing()).toMatchObject({ code: EXIT.fine });
  });

  it("writes nothing without the archive's own signing key", async () => {
    await using world = await openWorld();
    await using elsewhere = await createTempDir("keys");
    const wrong = { ...world, keysDir: elsewhere.path };
    const refused = runOn(wrong, erase, "--subject", "ann", ...reason, "--despite-minimum");
    await expect(refused).rejects.toMatchObject({ code: "config_invalid" });
    expect(await readdir(elsewhere.path)).toEqual([]);
  });
});

describe("reprise-audit hold", () => {
  it("keeps a subject from being erased until it is lifted", async () => {
    await using world = await openWorld();
    const set = await runOn(world, hold, "set", "--subject", "ann", ...reason);
    const id = set.out.trim();
    const erasing = () => runOn(world, erase, "--subject", "ann", ...reason, "--despite-minimum");
    await expect(erasing()).rejects.toMatchObject(REFUSED);
    const listed = await runOn(world, hold, "list", "--tenant", "acme");
    expect(listed.out).toMatch(
      new RegExp(`^${id}  .*the subject with the tag [0-9a-f]{16}  by cli:.*: a test\n$`),
    );
    await runOn(world, hold, "lift", "--id", id, ...reason);
    expect((await runOn(world, hold, "list", "--tenant", "acme")).out).toBe("");
    expect(await erasing()).toMatchObject({ code: EXIT.unknown });
    expect(await runOn(world, verify)).toMatchObject({ code: EXIT.fine });
  });

  it.each([[[]], [["keep"]], [["set", "more"]]])("refuses to %j", async (what) => {
    await using world = await openWorld();
    await expect(runOn(world, hold, ...what, ...reason)).rejects.toMatchObject({ code: "invalid_request" });
  });
});
