import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeFingerprints,
  encodeFingerprints,
  fingerprintOf,
  holdsFingerprint,
  mayHold,
} from "./fingerprint.ts";

const anyGenerations = fc.uniqueArray(fc.string(), { maxLength: 50 });

describe("the fingerprints of a file", () => {
  test("hold every generation that is in it, and nothing else", () => {
    fc.assert(
      fc.property(anyGenerations, anyGenerations, (inside, others) => {
        const file = { generations: encodeFingerprints(inside) };
        const known = new Set(inside.map(fingerprintOf));
        for (const generation of inside) expect(mayHold(file, generation)).toBe(true);
        for (const generation of others)
          expect(mayHold(file, generation)).toBe(known.has(fingerprintOf(generation)));
      }),
    );
  });

  test("are found at the first, the last and every other place, and not beside them", () => {
    for (let count = 1; count <= 20; count++) {
      const file = { generations: encodeFingerprints(Array.from({ length: count }, (_, i) => `gen_${i}`)) };
      for (const fingerprint of decodeFingerprints(file.generations)) {
        expect(holdsFingerprint(file, fingerprint)).toBe(true);
        expect(holdsFingerprint(file, fingerprint - 1)).toBe(false);
        expect(holdsFingerprint(file, fingerprint + 1)).toBe(false);
      }
    }
  });

  test("are ascending, and each is listed once however often a generation is named", () => {
    const fingerprints = decodeFingerprints(encodeFingerprints(["b", "a", "b", "c", "a"]));
    expect([...fingerprints]).toEqual(["a", "b", "c"].map(fingerprintOf).toSorted((x, y) => x - y));
  });

  test("are the first four bytes of the SHA-256 of a generation's id", () => {
    expect(fingerprintOf("gen_0_abc").toString(16)).toBe("58543c3c");
  });
});
