import { RepriseError } from "@reprise/protocol";
import { describe, expect, it, test } from "vitest";
import { COSIGNATURE, createNoteKey, parseNoteKey, parseVerifierKey } from "./note-key.ts";

/** From the documentation of golang.org/x/mod/sumdb/note. */
const SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const SEED = Buffer.alloc(32, 3);

describe("a key of signed notes", () => {
  it("is the one that Go's sumdb/note makes of the same secret", () => {
    expect(parseNoteKey(SKEY).vkey).toBe(VKEY);
    expect(parseNoteKey(SKEY).skey).toBe(SKEY);
    expect(parseVerifierKey(VKEY).name).toBe("PeterNeumann");
  });

  it("is read again from its text, blanks around it left out", () => {
    const key = createNoteKey("reprise", SEED, COSIGNATURE);
    const message = Buffer.from("text");
    const read = parseVerifierKey(` ${key.vkey}\n`);
    expect(read.verify(message, parseNoteKey(`${key.skey}\n`).sign(message))).toBe(true);
    expect(read.verify(Buffer.from("Text"), key.sign(message))).toBe(false);
    expect(read.algorithm).toBe(COSIGNATURE);
  });

  it("has another id for another name or another algorithm", () => {
    const ids = [
      createNoteKey("a", SEED),
      createNoteKey("b", SEED),
      createNoteKey("a", SEED, COSIGNATURE),
    ].map(({ keyId }) => keyId.toString("hex"));
    expect(new Set(ids).size).toBe(3);
  });

  test.each([
    ["nothing", ""],
    ["another id than its own", VKEY.replace("c74f20a3", "c74f20a4")],
    ["another name than its own", VKEY.replace("Peter", "Petra")],
    ["an unknown algorithm", VKEY.replace("+AR", "+fR")],
    ["a key that is cut", VKEY.slice(0, -4)],
    ["a key with something after it", `${VKEY.slice(0, -1)}WAAAA`],
    ["a signing key", SKEY],
  ])("is not read from %s", (_, text) => {
    expect(() => parseVerifierKey(text)).toThrow(RepriseError);
  });

  it("does not repeat a secret that can't be read", () => {
    const cut = SKEY.slice(0, -5);
    expect(() => parseNoteKey(cut)).toThrow(expect.objectContaining({ code: "config_invalid" }));
    expect(() => parseNoteKey(cut)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining("AYEK") }),
    );
    expect(() => parseNoteKey(VKEY)).toThrow(RepriseError);
  });

  test.each(["", "a b", "a+b", "a\nb"])("is not called %j", (name) => {
    expect(() => createNoteKey(name)).toThrow(TypeError);
  });
});
