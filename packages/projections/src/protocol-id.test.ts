import { createGenerationId } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseProtocolId, toProtocolId } from "./protocol-id.ts";

const anyGeneration = fc
  .tuple(fc.uint8Array({ minLength: 17, maxLength: 17 }), fc.integer({ min: 1, max: 1_000 }))
  .map(([random, shards]) => createGenerationId(random, shards));

describe.each(["chatcmpl-", "resp_"] as const)("an id with the prefix %s", (prefix) => {
  it("names one generation, whose native id it gives back", () => {
    fc.assert(
      fc.property(anyGeneration, (generation) => {
        expect(parseProtocolId(prefix, toProtocolId(prefix, generation))).toBe(generation);
        expect(parseProtocolId(prefix, generation)).toBe(generation);
      }),
    );
  });

  it.each([
    undefined,
    "",
    prefix,
    `${prefix}${"0".repeat(26)}`,
    `${prefix}${"0".repeat(26)}01`,
    `${prefix}${"0".repeat(26)}1000`,
    `${prefix}${"z".repeat(26)}1`,
    `other-${"0".repeat(26)}1`,
  ])("that the platform did not make names nothing: %s", (id) => {
    expect(() => parseProtocolId(prefix, id)).toThrow(
      expect.objectContaining({ code: "generation_not_found" }),
    );
  });
});
