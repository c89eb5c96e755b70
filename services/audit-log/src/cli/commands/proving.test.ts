import { asStreamSeq } from "@reprise/protocol";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ARCHIVE_TREE,
  type ArchivedMessage,
  checkpointKey,
  COSIGNATURE,
  cosign,
  cosignedKey,
  createNoteKey,
  hashLeaf,
  openSegment,
  parseNote,
  type SegmentProof,
  showMessage,
} from "@reprise/archive";
import { completed, createRef, delta, requested } from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { type FilledArchive, openFilledArchive } from "../../testing/filled-archive.ts";
import { checkProofIndependently } from "../../testing/independent/messages.ts";
import { runCommand } from "../../testing/run-command.ts";
import { MASTER_KEY, SIGNING_SEED } from "../../testing/test-keys.ts";
import { checkProof } from "./check-proof.ts";
import { EXIT } from "../command.ts";
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
  it.each([
    ["a generation", {}],
    ["a generation of a subject, whose key opens others too", { subject: "person" }],
  ])("shows an event of %s, proved, with the archive's public key alone", async (_, options) => {
    await using world = await openArchiveOf(options);
    const { filled, first, proved } = world;
    const { code, out } = await proveEvent(filled, proved.generation, "--reveal");
    expect(code).toBe(EXIT.fine);
    expect(out).not.toContain(first.generation);
    const text = `{"seq":1,"type":"output.delta","text":"of ${proved.generation}"}`;
    const checked = await check(filled, out, "--vkey", vkey);
    expect(checked.code).toBe(EXIT.fine);
    expect(checked.out).toContain(`stored at 2026-11-21T12:00:00.001Z:\n${text}\n`);
    expect(checkProofIndependently(out, vkey)).toBe(text);
  });

  it("shows each event of a longer log alone", async () => {
    await using filled = await openFilledArchive();
    const ref = createRef();
    const words = Array.from({ length: 9 }, (_, i) => delta(`word-${i}`));
    filled.log(ref, [requested(ref), ...words, completed()], NOON_US);
    await filled.commit();
    const texts = new Map<number, string | undefined>();
    for (let seq = 0; seq < 11; seq++) {
      const { out } = await proveEvent(filled, ref.generation, "--reveal", "--seq", String(seq));
      texts.set(seq, checkProofIndependently(out, vkey));
      expect((await check(filled, out, "--vkey", vkey)).code).toBe(EXIT.fine);
    }
    expect([...texts].map(([seq, text]) => text?.startsWith(`{"seq":${seq},`))).toEqual(Array(11).fill(true));
    expect(texts.get(4)).toContain("word-3");
  });

  it("has no key, and of the events that it does not show no text, no salt and no hash that can be guessed", async () => {
    await using world = await openArchiveOf({ subject: "person" });
    const { filled, proved } = world;
    const { out } = await proveEvent(filled, proved.generation, "--reveal");
    const proof = JSON.parse(out) as SegmentProof;
    const parts = bytesIn(proof);
    const [placed] = await filled.reader.segmentsOf(proved, ["log"]);
    const { header } = placed!;
    const key = await filled.keyring.open("acme", header.kid);
    if (typeof key === "string") throw new Error(`The key is ${key}.`);
    const nonce = Buffer.from(header.nonce, "hex");
    const messages = openSegment(await filled.reader.sealedSegment(placed!), key);
    const secrets = { key: key.key, nonce };
    const shown = await Promise.all(messages.map((_, i) => showMessage(messages, i, secrets)));
    const hidden = shown.filter((_, seq) => seq !== proof.seq);

    expect(parts.filter((part) => has(part, shown[proof.seq]!.salt))).toHaveLength(1);
    const secret = [key.key, ...hidden.flatMap(({ message, salt }) => [message.payload, salt])];
    for (const bytes of secret) expect(parts.filter((part) => has(part, bytes))).toEqual([]);
    // A hidden event that is guessed to the letter has its hash with its own salt, and with none that the proof shows.
    const salts = [shown[proof.seq]!.salt, new Uint8Array(16)];
    const guesses = hidden.flatMap(({ message }) => salts.map((salt) => leafOf(message, salt)));
    const siblings = proof.event!.siblings.map((hash) => Buffer.from(hash, "base64").toString("hex"));
    expect(siblings).toContain(leafOf(hidden[0]!.message, hidden[0]!.salt));
    expect(siblings.filter((hash) => guesses.includes(hash))).toEqual([]);
  });

  it("shows no event unless that is asked for", async () => {
    await using world = await openArchiveOf();
    const { out } = await proveEvent(world.filled, world.proved.generation);
    expect(JSON.parse(out)).not.toHaveProperty("event");
    expect(checkProofIndependently(out, vkey)).toBeUndefined();
    const checked = await check(world.filled, out, "--vkey", vkey);
    expect(checked.code).toBe(EXIT.fine);
    expect(checked.out).toContain("the proof does not show the event");
    expect(checked.out).not.toContain("output.delta");
  });

  it("shows no event whose key was destroyed, and proves that there was one", async () => {
    await using world = await openArchiveOf();
    const { filled, proved } = world;
    const [segment] = await filled.reader.segmentsOf(proved, ["log"]);
    await filled.keyring.destroy("acme", [segment!.header.kid]);
    await expect(proveEvent(filled, proved.generation, "--reveal")).rejects.toMatchObject({
      code: "generation_erased",
    });
    const { out } = await proveEvent(filled, proved.generation);
    expect((await check(filled, out, "--vkey", vkey)).code).toBe(EXIT.fine);
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

type ShownEvent = NonNullable<SegmentProof["event"]>;

/** A change of what a proof shows. */
function shows(change: (event: ShownEvent) => Partial<ShownEvent>) {
  return ({ event, ...proof }: SegmentProof) => ({ ...proof, event: { ...event!, ...change(event!) } });
}

/** Returns all binary data in a proof, and the proof itself. */
function bytesIn(proof: SegmentProof): Buffer[] {
  const { event, sealed, siblings } = proof;
  const encoded = [sealed, ...siblings, event!.payload, event!.salt, ...event!.siblings];
  return [Buffer.from(JSON.stringify(proof)), ...encoded.map((text) => Buffer.from(text, "base64"))];
}

function has(bytes: Buffer, part: Uint8Array): boolean {
  return bytes.includes(Buffer.from(part));
}

/** Computes a leaf as FORMAT.md describes it, hex. */
function leafOf({ streamSeq, storedAtUs, payload }: ArchivedMessage, salt: Uint8Array): string {
  const numbers = Buffer.alloc(16);
  numbers.writeBigUInt64BE(BigInt(streamSeq));
  numbers.writeBigUInt64BE(BigInt(storedAtUs), 8);
  return Buffer.from(hashLeaf(Buffer.concat([salt, numbers, payload]))).toString("hex");
}

describe("reprise-audit check-proof", () => {
  const changes: Record<string, (proof: SegmentProof, other: SegmentProof) => unknown> = {
    "another header": (proof) => ({ ...proof, header: proof.header.replace('"sim"', '"sin"') }),
    "another tenant": (proof) => ({ ...proof, header: proof.header.replace('"acme"', '"beta"') }),
    "other ciphertext": (proof, { sealed }) => ({ ...proof, sealed }),
    "another place": (proof) => ({ ...proof, index: proof.index + 1 }),
    "another way up": (proof) => ({ ...proof, siblings: proof.siblings.toReversed() }),
    "a shorter way up": (proof) => ({ ...proof, siblings: proof.siblings.slice(1) }),
    "another size": (proof) => ({ ...proof, checkpoint: proof.checkpoint.replace("\n3\n", "\n4\n") }),
    "another archive": (proof) => ({ ...proof, archive: "other" }),
    "the payload of another generation": (proof, { event }) => ({ ...proof, event }),
    "another place of the event": shows(({ stream_seq }) => ({ stream_seq: asStreamSeq(stream_seq + 1) })),
    "another time of the event": shows(({ stored_at }) => ({ stored_at: stored_at + 1 })),
    "another way up to the messages' root": shows(({ siblings }) => ({ siblings: siblings.toReversed() })),
    "a longer way up to the messages' root": shows(({ siblings, salt }) => ({
      siblings: [...siblings, salt],
    })),
    "a shorter way up to the messages' root": shows(({ siblings }) => ({ siblings: siblings.slice(1) })),
    "a key": (proof) => ({ ...proof, key: proof.sealed }),
    "an event that its segment does not have": (proof) => ({ ...proof, seq: 3 }),
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
    const wrong = JSON.stringify(changes[name]!(proof!, other!));
    expect(wrong).not.toBe(JSON.stringify(proof));
    const { code, out } = await check(filled, wrong, "--vkey", vkey);
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
