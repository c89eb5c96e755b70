import { hash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createGenerationId,
  deriveGenerationId,
  isGenerationId,
  isTenantId,
  isToken,
  MAX_SHARDS,
  parseGenerationId,
  parseTenantId,
  parseWorkerId,
  shardOf,
} from "./id.ts";
import { RepriseError } from "./errors/reprise-error.ts";
import { anyShards, anyTenant, anyToken, randomBytes } from "./arbitraries.fixture.ts";

/** Texts that are not subject tokens: NATS reads `.`, `*`, `>` and blanks as structure, and also stores subjects that it cannot read. */
const anyNonToken = fc.oneof(
  fc.constantFrom(
    "",
    ".",
    "*",
    ">",
    " ",
    "a.b",
    "a*",
    ">a",
    "a b",
    "a\n",
    "\na",
    "a\0",
    "é",
    "🙂",
    "a/b",
    "a=",
    "ａ",
  ),
  fc
    .tuple(
      anyToken,
      fc.constantFrom(".", "*", ">", " ", "\t", "\r", "\n", "\0", "é", "中", "\u202e", "\ud800"),
    )
    .map(([a, b]) => a + b),
  fc.integer({ min: 65, max: 300 }).map((length) => "a".repeat(length)),
  fc.string({ unit: "binary" }).filter((text) => !/^[A-Za-z0-9_-]{1,64}$/.test(text)),
  fc.constantFrom(undefined, null, 7, {}, ["acme"], true),
);

describe("tenant and worker ids", () => {
  it("take every token as it is", () => {
    fc.assert(
      fc.property(anyToken, (token) => {
        expect(parseTenantId(token)).toBe(token);
        expect(parseWorkerId(token)).toBe(token);
        expect(isTenantId(token)).toBe(true);
      }),
    );
  });

  it("refuse everything else, and name the field and the limit", () => {
    fc.assert(
      fc.property(anyNonToken, (value) => {
        expect(() => parseTenantId(value)).toThrow(
          "tenant must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -.",
        );
        expect(() => parseWorkerId(value)).toThrow(
          "worker must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -.",
        );
        expect(isTenantId(value)).toBe(false);
      }),
    );
  });
});

describe("generation ids", () => {
  it("are tokens, are what the parser accepts and name a shard in range", () => {
    fc.assert(
      fc.property(randomBytes, anyShards, (random, shards) => {
        const id = createGenerationId(random, shards);
        expect(parseGenerationId(id)).toBe(id);
        expect(isToken(id)).toBe(true);
        expect(shardOf(id)).toBeGreaterThanOrEqual(0);
        expect(shardOf(id)).toBeLessThan(shards);
      }),
    );
  });

  it("differ when any of the first 130 bits differs", () => {
    fc.assert(
      fc.property(randomBytes, fc.nat(129), anyShards, (random, bit, shards) => {
        const other = random.slice();
        other[bit >> 3]! ^= 0x80 >> (bit & 7);
        expect(createGenerationId(other, shards)).not.toBe(createGenerationId(random, shards));
      }),
    );
  });

  it("spread over all shards", () => {
    const seen = new Set<number>();
    for (let i = 0; i < 400; i++) {
      const random = new Uint8Array(17);
      new DataView(random.buffer).setUint32(0, Math.imul(i + 1, 0x9e3779b1));
      seen.add(shardOf(createGenerationId(random, 8)));
    }
    expect(seen).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
  });

  it.each([0, -1, 1.5, MAX_SHARDS + 1, Number.NaN, Number.POSITIVE_INFINITY])(
    "are not made for %d shards",
    (shards) => {
      expect(() => createGenerationId(new Uint8Array(17), shards)).toThrow(TypeError);
    },
  );

  it("are not made from fewer than 17 bytes", () => {
    expect(() => createGenerationId(new Uint8Array(16), 1)).toThrow("an id needs 17 random bytes, got 16");
  });

  it("refuse every change of a single character to one outside the alphabet", () => {
    fc.assert(
      fc.property(
        randomBytes,
        fc.nat(),
        fc.constantFrom(".", "*", ">", " ", "Z", "w", "\n", "é"),
        (random, at, char) => {
          const id = createGenerationId(random, 4);
          const index = at % id.length;
          expect(isGenerationId(id.slice(0, index) + char + id.slice(index + 1))).toBe(false);
        },
      ),
    );
  });

  it.each([
    "",
    "gen_",
    "gen_0_",
    `gen_00_${"0".repeat(26)}`,
    `gen_1000_${"0".repeat(26)}`,
    `gen_-1_${"0".repeat(26)}`,
  ])("of the form %j are found nowhere", (value) =>
    expect(() => parseGenerationId(value)).toThrow(RepriseError),
  );

  it("that are malformed are answered like those of no generation", () => {
    fc.assert(
      fc.property(anyNonToken, (value) => {
        expect(() => parseGenerationId(value)).toThrow(
          expect.objectContaining({ code: "generation_not_found", param: "id" }),
        );
      }),
    );
  });
});

describe("a derived generation id", () => {
  const anyKey = fc.string({ minLength: 1, maxLength: 255 });
  const sha256 = (text: string) => hash("sha256", text, "buffer");

  it("is the same for the same tenant and key", () => {
    fc.assert(
      fc.property(anyTenant, anyKey, anyShards, (tenant, key, shards) => {
        const id = deriveGenerationId(tenant, key, shards, sha256);
        expect(parseGenerationId(id)).toBe(id);
        expect(deriveGenerationId(tenant, key, shards, sha256)).toBe(id);
      }),
    );
  });

  it("never changes from one release to the next", () => {
    expect(deriveGenerationId(parseTenantId("acme"), "order-7", 4, sha256)).toBe(
      "gen_0_ki6f0anl492krl38c9oq7nn0j4",
    );
  });

  it("differs for another tenant and for another key", () => {
    fc.assert(
      fc.property(anyTenant, anyTenant, anyKey, anyKey, (tenant, otherTenant, key, otherKey) => {
        fc.pre(tenant !== otherTenant && key !== otherKey);
        const ids = [
          deriveGenerationId(tenant, key, 1, sha256),
          deriveGenerationId(otherTenant, key, 1, sha256),
          deriveGenerationId(tenant, otherKey, 1, sha256),
        ];
        expect(new Set(ids).size).toBe(3);
      }),
    );
  });
});
