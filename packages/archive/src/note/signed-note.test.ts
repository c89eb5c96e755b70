import { RepriseError } from "@reprise/protocol";
import { describe, expect, it, test } from "vitest";
import { createNoteKey, parseNoteKey, parseVerifierKey } from "./note-key.ts";
import { openNote, parseNote, signNote } from "./signed-note.ts";

/** From the documentation of golang.org/x/mod/sumdb/note. */
const SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const TEXT =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const SIGNED = `${TEXT}
— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

const [older, newer] = [
  createNoteKey("reprise", Buffer.alloc(32, 1)),
  createNoteKey("reprise", Buffer.alloc(32, 2)),
];

describe("a signed note", () => {
  it("is what Go's sumdb/note makes of the same text and key", () => {
    expect(signNote(TEXT, [parseNoteKey(SKEY)])).toBe(SIGNED);
    expect(openNote(SIGNED, [parseVerifierKey(VKEY)])).toMatchObject({
      text: TEXT,
      verified: [{ name: "PeterNeumann" }],
    });
  });

  it("says which of several keys of one name has signed it, and passes over keys it is not asked about", () => {
    const note = signNote("text\n", [newer, parseNoteKey(SKEY)]);
    expect(openNote(note, [older, newer]).verified).toEqual([newer]);
    expect(openNote(signNote("text\n", [older, newer]), [older, newer]).verified).toEqual([older, newer]);
    expect(openNote(note, [older]).verified).toEqual([]);
  });

  it("is refused when its text is another than the one that was signed", () => {
    const forged = SIGNED.replace("answer", "Answer");
    expect(() => openNote(forged, [parseVerifierKey(VKEY)])).toThrow(RepriseError);
    expect(openNote(forged, [older]).verified).toEqual([]);
  });

  it("is refused when a second signature of a key is wrong", () => {
    const [, line] = signNote("other\n", [newer]).split("\n\n");
    expect(() => openNote(`${signNote("text\n", [newer])}${line}`, [newer])).toThrow("wrong");
  });

  it("keeps a text that has empty lines in it", () => {
    const note = signNote("a\n\nb\n", [newer]);
    expect(openNote(note, [newer])).toMatchObject({ text: "a\n\nb\n", verified: [{}] });
  });

  test.each([
    ["nothing", ""],
    ["a text alone", "text\n"],
    ["a text without signatures", "text\n\n"],
    ["no newline at its end", SIGNED.slice(0, -1)],
    ["a line that is no signature", `${SIGNED}- reprise AAAA\n`],
    ["a signature without a name", "text\n\n— AAAAAAAA\n"],
    ["a signature that is only a key's id", "text\n\n— reprise AAAAAA==\n"],
    ["a signature with something after it", "text\n\n— reprise AAAAAAAA AAAA\n"],
    ["base64 that is none", "text\n\n— reprise AAAA*AAAA\n"],
    ["more signatures than are checked", `text\n\n${"— reprise AAAAAAAA\n".repeat(65)}`],
  ])("is not read from %s", (_, note) => {
    expect(() => parseNote(note)).toThrow(expect.objectContaining({ code: "archive_corrupt" }));
  });
});
