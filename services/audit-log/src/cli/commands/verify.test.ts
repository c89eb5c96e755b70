import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ARCHIVE_TREE,
  checkpointKey,
  COSIGNATURE,
  commitKey,
  cosign,
  createFileStore,
  createNoteKey,
  type DataKey,
  encodeCheckpoint,
  encodeSegmentFile,
  type Keyring,
  leafHashOf,
  openArchive,
  parseNote,
  parseVerifierKey,
  sealSegment,
  signNote,
  verifyArchive,
  type VerifyReport,
  SEEN_DIR,
  seenKey,
} from "@reprise/archive";
import { encodeEvent, streamOf, asSeq, asStreamSeq } from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { describeFile } from "../../archiving/describe-file.ts";
import { type FilledArchive, openFilledArchive } from "../../testing/filled-archive.ts";
import { runCommand, runOn } from "../../testing/run-command.ts";
import { SIGNING_SEED } from "../../testing/test-keys.ts";
import { EXIT } from "../command.ts";
import { verify } from "./verify.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const signer = createNoteKey("test", SIGNING_SEED);
const witness = createNoteKey("witness", Buffer.alloc(32, 3), COSIGNATURE);
const OWN = checkpointKey(ARCHIVE_TREE);

/** Three commits, each with a log of its own. */
async function openArchiveOf() {
  const filled = await openFilledArchive();
  const refs = [createRef(), createRef(), createRef("beta")] as const;
  for (const ref of refs) {
    filled.log(ref, [requested(ref), started(), delta("x"), completed()], NOON_US);
    await filled.commit();
  }
  return { filled, refs, [Symbol.asyncDispose]: () => filled[Symbol.asyncDispose]() };
}

async function run(filled: FilledArchive, ...args: string[]) {
  const { code, out } = await runOn(filled, verify, "--json", ...args);
  return { code, report: JSON.parse(out) as VerifyReport };
}

const withKey = (filled: FilledArchive, ...args: string[]) => run(filled, "--vkey", signer.vkey, ...args);

/** Verifies with keys that are not what they were. */
function verifyWith({ archive }: FilledArchive, open: Keyring["open"]): Promise<VerifyReport> {
  const { store } = archive;
  return verifyArchive({
    store,
    name: "test",
    vkeys: [parseVerifierKey(signer.vkey)],
    witnesses: [],
    witnessed: [],
    keyring: { open },
  });
}

async function newestCheckpointOf({ archive }: FilledArchive, tenant: string): Promise<Uint8Array> {
  const commits = await Array.fromAsync(archive.commits(0));
  const part = commits.flatMap(({ commit }) => commit.tenants).findLast((one) => one.tenant === tenant)!;
  return Buffer.from(part.checkpoint);
}

const messagesOf = ({ findings }: VerifyReport) => findings.map(({ message }) => message).join("\n");

test("an archive that is as it was written is fine", async () => {
  await using world = await openArchiveOf();
  const { code, report } = await withKey(world.filled);
  expect(report).toMatchObject({ verdict: "fine", commits: 3, files: 3, segments: 3, events: 12 });
  expect([code, report.findings]).toEqual([EXIT.fine, []]);
});

test("nothing can be told without a key, of another archive, and where there is none", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  expect((await run(filled)).code).toBe(EXIT.unknown);
  const nowhere = { ...filled, dir: join(filled.dir, "nowhere") };
  expect((await withKey(nowhere)).code).toBe(EXIT.unknown);
  expect((await withKey(filled, "--name", "other")).code).toBe(EXIT.tampered);
});

test("an archive whose signing key was changed is verified with both keys, and with neither alone", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  const newer = createNoteKey("test", Buffer.alloc(32, 4));
  const writer = { name: "second", signer: newer, earlier: [signer], onError: () => {} };
  const archive = await openArchive({ store: createFileStore(filled.dir), name: "test", writer });
  await archive.append(() => ({ tenants: [] }));
  const hold = { kind: "hold_set", at: "now", id: "hold_1", by: "me", reason: "law" } as const;
  await archive.append(() => ({
    tenants: [{ tenant: "acme", leaves: [], files: [], removes: [], records: [hold] }],
  }));
  expect((await withKey(filled, "--vkey", newer.vkey)).code).toBe(EXIT.fine);
  expect((await withKey(filled)).code).toBe(EXIT.tampered);
  expect((await run(filled, "--vkey", newer.vkey)).code).toBe(EXIT.tampered);
});

test("without a signature forged commits can't be told from others", async () => {
  await using world = await openArchiveOf();
  const { store } = world.filled.archive;
  const older = (await store.get(OWN))!;
  const ref = createRef();
  world.filled.log(ref, [requested(ref), completed()], NOON_US);
  await world.filled.commit();
  await store.put(OWN, older);
  const { code, report } = await withKey(world.filled);
  expect(code).toBe(EXIT.unknown);
  expect(messagesOf(report)).toContain(
    "the last 1 of 4 commits are not signed; verify again if the archive is being written to",
  );
  await store.delete(OWN);
  expect((await withKey(world.filled)).code).toBe(EXIT.unknown);
});

test("a cut end shows by what a witness has kept, and by nothing else", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  const { store } = filled.archive;
  const [first, note] = [join(filled.dir, "..", "note"), Buffer.from((await store.get(OWN))!).toString()];
  await writeFile(first, note + cosign(parseNote(note).text, witness, 1_795_000_000));
  const asked = ["--witness", witness.vkey];
  expect((await withKey(filled, ...asked)).code).toBe(EXIT.unknown);
  expect((await withKey(filled, ...asked, "--witnessed", first)).code).toBe(EXIT.fine);

  // A holder of the signing key puts another commit in place of the last one.
  await store.delete(commitKey(2));
  const writer = { name: "thief", signer, onError: () => {} };
  const forged = await openArchive({ store, name: "test", writer });
  await forged.append(() => ({ tenants: [] }));
  expect((await withKey(filled)).code).toBe(EXIT.fine);
  expect((await withKey(filled, ...asked, "--witnessed", first)).code).toBe(EXIT.tampered);
});

test("beside another archive's witness it says so, and how to name its own", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  const witnessDir = join(filled.dir, "..", "witness");
  const remember = async (note: string) => {
    await mkdir(join(witnessDir, SEEN_DIR), { recursive: true });
    await writeFile(join(witnessDir, "witness.key"), witness.skey);
    await writeFile(join(witnessDir, SEEN_DIR, seenKey("test/.archive")), note);
  };
  const keysDir = join(filled.dir, "..", "keys");
  await mkdir(keysDir, { recursive: true });
  await writeFile(join(keysDir, "signing.key"), signer.skey);
  const env = {
    REPRISE_AUDIT_DIR: filled.dir,
    REPRISE_AUDIT_KEYS_DIR: keysDir,
    REPRISE_WITNESS_DIR: witnessDir,
  };
  const verifyBeside = () => runCommand(verify, ["--name", "test", "--no-keys"], env);

  const own = Buffer.from((await filled.archive.store.get(OWN))!).toString();
  const cosigned = (note: string) => note + cosign(parseNote(note).text, witness, 1_795_000_000);
  await remember(cosigned(own));
  expect((await verifyBeside()).code).toBe(EXIT.fine);

  const other = createNoteKey("test", Buffer.alloc(32, 11));
  await remember(
    cosigned(
      signNote(encodeCheckpoint({ origin: "test/.archive", size: 7, root: Buffer.alloc(32) }), [other]),
    ),
  );
  await expect(verifyBeside()).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("belongs to another archive. Set REPRISE_WITNESS_DIR"),
  });
});

test("finds a segment that does not hold what its header says, sealed by any key holder", async () => {
  await using world = await openArchiveOf();
  const { archive, keyring } = world.filled;
  const { tenant, generation } = createRef();
  const key = await keyring.keyFor({ tenant, generation });
  const message = {
    streamSeq: asStreamSeq(13),
    storedAtUs: NOON_US,
    payload: encodeEvent(asSeq(5), delta("x")),
  };
  const place = {
    stream: streamOf(generation),
    first_stream_seq: asStreamSeq(13),
    last_stream_seq: asStreamSeq(13),
    epoch: 0,
  };
  const header = {
    v: 1,
    tenant,
    generation,
    kind: "log",
    events: 1,
    first_seq: asSeq(0),
    last_seq: asSeq(0),
  } as const;
  const times = { first_at: NOON_US, last_at: NOON_US };
  const segment = sealSegment({ ...header, ...place, ...times }, [message], key, randomBytes);
  const bytes = encodeSegmentFile([segment]);
  const file = describeFile(
    { tenant, day: "2026-11-21", stream: place.stream, first: asStreamSeq(13), last: asStreamSeq(13) },
    { bytes, segments: [segment] },
  );
  await archive.store.put(file.key, bytes);
  await keyring.flush();
  const lane = {
    ...archive.state.lanes.get(place.stream)!,
    first: asStreamSeq(13),
    last: asStreamSeq(13),
    events: 1,
  };
  const part = { tenant, leaves: [leafHashOf(segment)], files: [file], removes: [], records: [] };
  await archive.append(() => ({ lane, tenants: [part] }));
  expect((await withKey(world.filled, "--no-keys")).code).toBe(EXIT.fine);
  const { code, report } = await withKey(world.filled);
  expect(code).toBe(EXIT.tampered);
  expect(messagesOf(report)).toContain("does not hold what its header says");
});

test("a key that is destroyed without a record can't be explained; one that a record names is no harm", async () => {
  await using world = await openArchiveOf();
  const { filled, refs } = world;
  const report = await verifyWith(filled, async () => "destroyed");
  expect([report.verdict, report.destroyed]).toEqual(["unknown", 3]);

  const records = (["acme", "beta"] as const).map((tenant) => ({
    tenant,
    leaves: [],
    files: [],
    removes: [],
    records: [
      {
        kind: "erasure_requested" as const,
        at: "now",
        id: "era_1",
        by: "me",
        reason: "asked",
        generations: refs.map(({ generation }) => generation),
        purged: {},
      },
    ],
  }));
  await filled.archive.append(() => ({ tenants: records }));
  const after = await verifyWith(filled, async () => "destroyed");
  expect([after.verdict, after.destroyed]).toEqual(["fine", 3]);
});

test("a key that was destroyed and is there again is found", async () => {
  await using world = await openArchiveOf();
  const { filled, refs } = world;
  const [segment] = await filled.reader.segmentsOf(refs[0]);
  const kids = [segment!.header.kid];
  const record = { kind: "key_destroyed" as const, at: "now", id: "era_1", kids };
  const part = { tenant: "acme", leaves: [], files: [], removes: [], records: [record] };
  await filled.archive.append(() => ({ tenants: [part] }));
  const { code, report } = await withKey(filled);
  expect(code).toBe(EXIT.tampered);
  expect(messagesOf(report)).toContain("was destroyed, and is there again");
});

test("keys that are not at hand leave the text unverified, and other keys open nothing", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  expect((await verifyWith(filled, async () => "unknown")).verdict).toBe("unknown");
  const other: DataKey = { kid: "k", key: Buffer.alloc(32), commitment: "" };
  expect((await verifyWith(filled, async () => other)).verdict).toBe("tampered");
  expect((await withKey(filled, "--no-keys")).code).toBe(EXIT.fine);
});

test("what selects nothing is not fine: nothing was verified", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  for (const args of [
    ["--tenant", "nosuch"],
    ["--since", "99999"],
    ["--since", "3"],
    ["--tenant", "acme", "--since", "3"],
  ]) {
    const { code, report } = await withKey(filled, ...args);
    expect([code, report.files], args.join(" ")).toEqual([EXIT.unknown, 0]);
    expect(messagesOf(report)).toContain("nothing verified");
  }
});

test("a tenant's checkpoint in place of the archive's, or of another tenant's, is tampering, however well it is signed", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  const { store } = filled.archive;
  const ofTenant = await newestCheckpointOf(filled, "acme");
  await store.put("cosigned/beta", ofTenant);
  const cosigned = await withKey(filled);
  expect(cosigned.code).toBe(EXIT.tampered);
  expect(messagesOf(cosigned.report)).toContain("is of test/acme, not of test/beta");
  await store.put("cosigned/beta", await newestCheckpointOf(filled, "beta"));
  expect((await withKey(filled)).code).toBe(EXIT.fine);

  await store.put(OWN, ofTenant);
  const own = await withKey(filled);
  expect(own.code).toBe(EXIT.tampered);
  expect(messagesOf(own.report)).toContain("is of test/acme, not of test/.archive");
});

test("since and tenant read fewer files, and all commits", async () => {
  await using world = await openArchiveOf();
  const { filled } = world;
  expect((await withKey(filled, "--since", "2")).report).toMatchObject({
    verdict: "fine",
    commits: 3,
    files: 1,
  });
  expect((await withKey(filled, "--tenant", "acme")).report).toMatchObject({ verdict: "fine", files: 2 });
  await filled.archive.store.delete(filled.archive.state.files("acme")[0]!.key);
  expect((await withKey(filled, "--since", "1")).code).toBe(EXIT.fine);
  expect((await withKey(filled)).code).toBe(EXIT.tampered);
  await expect(withKey(filled, "--since", "x")).rejects.toMatchObject({ code: "invalid_request" });
});
