import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createMasterKey, parseMasterKey } from "./master-key.ts";

const invalid = { code: "config_invalid" };

test("a master key is 32 bytes in base64 or hex, and what is refused is not repeated", () => {
  const key = randomBytes(32);
  for (const encoding of ["base64", "hex"] as const)
    expect(parseMasterKey(`  ${key.toString(encoding)}\n`)).toEqual(Uint8Array.from(key));
  expect(parseMasterKey(createMasterKey())).not.toEqual(parseMasterKey(createMasterKey()));
  for (const text of ["", "secret", key.toString("hex").slice(1), randomBytes(33).toString("base64")]) {
    expect(() => parseMasterKey(text)).toThrow(expect.objectContaining(invalid));
    expect(() => parseMasterKey(text)).not.toThrow(/secret/);
  }
});
