import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ARCHIVE_TREE,
  checkpointKey,
  COSIGNATURE,
  cosign,
  cosignedKey,
  createNoteKey,
  parseNote,
  type SegmentProof,
} from "@reprise/archive";
import { describe, expect, it } from "vitest";
import { completed, delta, requested } from "../testing/drafts.ts";
import { createRef, type FilledArchive, openFilledArchive } from "../testing/filled-archive.ts";
import { runCommand } from "../testing/run-command.ts";
import { MASTER_KEY, SIGNING_SEED } from "../testing/test-keys.ts";
import { checkProof } from "./check-proof.ts";
import { EXIT } from "./command.ts";
import { prove } from "./prove.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const { vkey } = createNoteKey("test", SIGNING_SEED);
const witness = createNoteKey("witness", Buffer.alloc(32, 3), COSIGNATURE);

/** Two tenants with two generations each, in several commits: the one that is proved lies in the middle. */
async function openArchiveOf({ subject }: { subject?: string } = {}) {
  const filled = await openFilledArchive();
  const [first, proved, third] = [createRef(), createRef(), createRef()];
  for (const ref of [first, proved, third, createRef("beta")]) {
    const request = subject === undefined ? {} : { subject };
    filled.log(ref, [requested(ref, request), delta(`of ${ref.generation}`), completed()], NOON_US);
    await filled.commit();
  }
  return { filled, first, proved, [Symbol.asyncDispose]: () => filled[Symbol.asyncDispose]() };
}

function proveEvent({ dir, keysDir }: FilledArchive, generation: string, ...args: string[]) {
  const where = ["--archive", dir, "--keys", keysDir, "--name", "test"];
  const env = { REPRISE_AUDIT_MASTER_KEY: MASTER_KEY.toString("hex") };
  return runCommand(prove, ["--generation", generation, "--seq", "1", ...args, ...where], env);
}

async function check({ dir }: FilledArchive, proof: string, ...args: string[]) {
  const file = join(dir, "..", "proof.json");
  await writeFile(file, proof);
  return runCommand(checkProof, [file, ...args], {});
}

describe("reprise-audit prove", () => {
  it("proves an event to whoever has the archive's public key, and shows the text when that is asked for", async () => {
    await using world = await openArchiveOf();
    const { filled, first, proved } = world;
    const { code, out } = await proveEvent(filled, proved.generation, "--reveal");
    expect(code).toBe(EXIT.fine);
    expect(out).not.toContain(first.generation);
    const checked = await check(filled, out, "--vkey", vkey);
    expect(checked.code).toBe(EXIT.fine);
    expect(checked.out).toContain(`{"seq":1,"type":"output.delta","text":"of ${proved.generation}"}`);
  });

  it("shows no text and has no key unless that is asked for", async () => {
    await using world = await openArchiveOf();
    const { out } = await proveEvent(world.filled, world.proved.generation);
    expect(JSON.parse(out)).not.toHaveProperty("key");
    const checked = await check(world.filled, out, "--vkey", vkey);
    expect(checked.code).toBe(EXIT.fine);
    expect(checked.out).not.toContain("output.delta");
  });

  it("does not give away a key that opens other generations of the subject", async () => {
    await using world = await openArchiveOf({ subject: "person" });
    await expect(proveEvent(world.filled, world.proved.generation, "--reveal")).rejects.toMatchObject({
      code: "invalid_request",
      param: "reveal",
    });
    expect((await proveEvent(world.filled, world.proved.generation)).code).toBe(EXIT.fine);
  });

  it("gives the text of one event to be taken on trust, where no key may be given", async () => {
    await using world = await openArchiveOf({ subject: "person" });
    const { filled, proved } = world;
    const { out } = await proveEvent(filled, proved.generation, "--with-text");
    const claimed = `{"seq":1,"type":"output.delta","text":"of ${proved.generation}"}`;
    expect(JSON.parse(out)).toMatchObject({ claimed });
    expect(JSON.parse(out)).not.toHaveProperty("key");
    const checked = await check(filled, out, "--vkey", vkey);
    expect(checked.code).toBe(EXIT.fine);
    expect(checked.out).toContain(`the proof does not show the text\nclaimed, and not proved: ${claimed}`);
    const lying = JSON.stringify({ ...JSON.parse(out), claimed: "x\ncosigned by everybody" });
    expect((await check(filled, lying, "--vkey", vkey)).out).toContain(
      "not proved: x cosigned by everybody\n",
    );
    await expect(proveEvent(filled, proved.generation, "--with-text", "--reveal")).rejects.toThrow("exclude");
  });

  it("names the witness that has not cosigned, and the time of one that has", async () => {
    await using world = await openArchiveOf();
    const { filled, proved } = world;
    const before = await proveEvent(filled, proved.generation);
    const args = ["--vkey", vkey, "--witness", witness.vkey];
    const unwitnessed = await check(filled, before.out, ...args);
    expect(unwitnessed).toMatchObject({ code: EXIT.unknown, out: expect.stringContaining("witness") });

    const { checkpoint } = JSON.parse(before.out) as SegmentProof;
    const cosigned = checkpoint + cosign(parseNote(checkpoint).text, witness, 1_795_000_000);
    await filled.archive.store.put(cosignedKey("acme"), Buffer.from(cosigned));
    const after = await proveEvent(filled, proved.generation);
    const witnessed = await check(filled, after.out, ...args);
    expect(witnessed.code).toBe(EXIT.fine);
    expect(witnessed.out).toContain("cosigned by witness at 2026-11-18");
  });

  it("does not find an event that was never archived", async () => {
    await using world = await openArchiveOf();
    const generation = world.proved.generation;
    await expect(proveEvent(world.filled, generation, "--seq", "3")).rejects.toMatchObject({ param: "seq" });
  });
});

describe("reprise-audit check-proof", () => {
  const changes: Record<string, (proof: SegmentProof, other: SegmentProof) => unknown> = {
    "another header": (proof) => ({ ...proof, header: proof.header.replace('"sim"', '"sin"') }),
    "a header with a blank": (proof) => ({ ...proof, header: proof.header.replace(",", ", ") }),
    "another tenant": (proof) => ({ ...proof, header: proof.header.replace('"acme"', '"beta"') }),
    "other ciphertext": (proof, { sealed }) => ({ ...proof, sealed }),
    "another place": (proof) => ({ ...proof, index: proof.index + 1 }),
    "another way up": (proof) => ({ ...proof, siblings: proof.siblings.toReversed() }),
    "a shorter way up": (proof) => ({ ...proof, siblings: proof.siblings.slice(1) }),
    "another size": (proof) => ({ ...proof, checkpoint: proof.checkpoint.replace("\n3\n", "\n4\n") }),
    "another archive": (proof) => ({ ...proof, archive: "other" }),
    "the key of another generation": (proof, { key }) => ({ ...proof, key }),
    "an event that its segment does not have": (proof) => ({ ...proof, seq: 3 }),
    "a field that nobody knows": (proof) => ({ ...proof, more: true }),
    "nothing in it": () => ({}),
  };
  it.each(Object.keys(changes))("refuses a proof with %s", async (name) => {
    await using world = await openArchiveOf();
    const { filled, first, proved } = world;
    const [proof, other] = await Promise.all(
      [proved, first].map(
        async (ref) => JSON.parse((await proveEvent(filled, ref.generation, "--reveal")).out) as SegmentProof,
      ),
    );
    const changed = JSON.stringify(changes[name]!(proof!, other!));
    expect(changed).not.toBe(JSON.stringify(proof));
    const { code, out } = await check(filled, changed, "--vkey", vkey);
    expect(out).toMatch(/^wrong: /);
    expect(code).toBe(EXIT.tampered);
  });

  it("refuses a proof that another key has signed", async () => {
    await using world = await openArchiveOf();
    const { out } = await proveEvent(world.filled, world.proved.generation);
    const other = createNoteKey("test").vkey;
    expect((await check(world.filled, out, "--vkey", other)).code).toBe(EXIT.tampered);
  });

  it("takes no checkpoint of the archive's own tree for one of a tenant's", async () => {
    await using world = await openArchiveOf();
    const { filled, proved } = world;
    const proof = JSON.parse((await proveEvent(filled, proved.generation)).out) as SegmentProof;
    const checkpoint = await readFile(join(filled.dir, checkpointKey(ARCHIVE_TREE)), "utf8");
    const { code } = await check(filled, JSON.stringify({ ...proof, checkpoint }), "--vkey", vkey);
    expect(code).toBe(EXIT.tampered);
  });
});
