import { describe, expect, it } from "vitest";
import { encodeCheckpoint } from "./checkpoint.ts";
import { cosign, cosignedAt } from "./cosignature.ts";
import { COSIGNATURE, createNoteKey, parseVerifierKey } from "./note-key.ts";
import { openNote, parseNote, signNote } from "./signed-note.ts";

const NOW = 1_795_000_000;
const log = createNoteKey("reprise", Buffer.alloc(32, 1));
const witness = createNoteKey("witness", Buffer.alloc(32, 2), COSIGNATURE);
const text = (size: number) =>
  encodeCheckpoint({ origin: "reprise/acme", size, root: Buffer.alloc(32, size) });
const signed = signNote(text(1), [log]);

/** A checkpoint of a public log, with cosignatures of public witnesses: what other implementations have written. */
const PUBLIC_NOTE = `arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
`;
const PUBLIC_LOG =
  "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f";
const PUBLIC_WITNESSES = [
  "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
  "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
];

describe("a cosignature", () => {
  it("is read as public witnesses write them", () => {
    const publicLog = parseVerifierKey(PUBLIC_LOG);
    expect(openNote(PUBLIC_NOTE, [publicLog]).verified).toEqual([publicLog]);
    const at = PUBLIC_WITNESSES.map((vkey) => cosignedAt(PUBLIC_NOTE, parseVerifierKey(vkey)));
    expect(at).toEqual([1_779_573_024, 1_779_573_024]);
  });

  it("says when a witness has seen a checkpoint, and leaves the log's own signature as it was", () => {
    const note = `${signed}${cosign(text(1), witness, NOW)}`;
    expect(cosignedAt(note, witness)).toBe(NOW);
    expect(openNote(note, [log, witness]).verified).toEqual([log]);
  });

  it("signs the lines that C2SP says", () => {
    const { signatures } = parseNote(`${signed}${cosign(text(1), witness, NOW)}`);
    const { signature } = signatures[1]!;
    const message = Buffer.from(`cosignature/v1\ntime ${NOW}\n${text(1)}`);
    expect(signature.length).toBe(8 + 64);
    expect(witness.verify(message, signature.subarray(8))).toBe(true);
  });

  it("is none for another checkpoint, another time, another witness or a cut signature", () => {
    const line = cosign(text(1), witness, NOW);
    expect(cosignedAt(`${signNote(text(2), [log])}${line}`, witness)).toBeUndefined();
    const bytes = Buffer.from(line.split(" ")[2]!, "base64");
    const earlier = Buffer.from(bytes);
    earlier[11]! -= 1;
    const lineOf = (forged: Buffer) => `— witness ${forged.toString("base64")}\n`;
    expect(cosignedAt(`${signed}${lineOf(bytes)}`, witness)).toBe(NOW);
    expect(cosignedAt(`${signed}${lineOf(earlier)}`, witness)).toBeUndefined();
    expect(cosignedAt(`${signed}${lineOf(bytes.subarray(0, 30))}`, witness)).toBeUndefined();
    expect(cosignedAt(`${signed}${lineOf(bytes.subarray(0, 12))}`, witness)).toBeUndefined();
    const namesake = createNoteKey("witness", Buffer.alloc(32, 3), COSIGNATURE);
    expect(cosignedAt(`${signed}${line}`, namesake)).toBeUndefined();
  });

  it("is none where the same key has signed a note", () => {
    const plain = createNoteKey("witness", Buffer.alloc(32, 2));
    expect(cosignedAt(signNote(text(1), [plain]), witness)).toBeUndefined();
    expect(cosignedAt(signNote(text(1), [plain]), plain)).toBeUndefined();
  });

  it("is found after one of the same witness that is wrong", () => {
    const note = `${signed}${cosign(text(2), witness, NOW)}${cosign(text(1), witness, NOW + 1)}`;
    expect(cosignedAt(note, witness)).toBe(NOW + 1);
  });
});
