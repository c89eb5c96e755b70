import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyModelName, anyToken } from "../arbitraries.fixture.ts";
import { isToken } from "../id.ts";
import { decodeModelName, encodeModelName, isModelName } from "./model-name.ts";

describe("an encoded model name", () => {
  it("is a token and decodes to the name it came from", () => {
    fc.assert(
      fc.property(anyModelName, (model) => {
        const token = encodeModelName(model);
        expect(isToken(token)).toBe(true);
        expect(decodeModelName(token)).toBe(model);
        expect(isModelName(model)).toBe(true);
      }),
      { examples: [["\ufeffx"], ["\ufeff"], ["\0"]] },
    );
  });

  it("is readable for the names that models have", () => {
    expect(encodeModelName("meta-llama/Llama-3.1")).toBe("meta-llama_2fLlama-3_2e1");
  });

  it("is the only token that decodes to its name", () => {
    const nearlyEncoded = fc.oneof(
      anyToken,
      fc.string({ unit: fc.constantFrom("_", "2", "e", "f", "F", "c", "a", "0"), maxLength: 12 }),
    );
    fc.assert(
      fc.property(nearlyEncoded, (token) => {
        const answer = decodeOrRefusal(token);
        expect([token, "protocol_violation"]).toContain(answer);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a model name", () => {
  it.each([
    ["that is empty", ""],
    ["that is longer than 64 characters", "m".repeat(65)],
    ["that is longer than 64 characters once encoded", ".".repeat(22)],
    ["that fills the whole body", "m".repeat(1_000_000)],
    ["with a lone surrogate", "a\ud800"],
  ])("%s is refused", (_, model) => {
    expect(() => encodeModelName(model)).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "model" }),
    );
    expect(isModelName(model)).toBe(false);
  });

  it.each(["m".repeat(64), ".".repeat(21)])("of the greatest length is taken: %s", (model) => {
    expect(decodeModelName(encodeModelName(model))).toBe(model);
  });
});

describe("a token that no name encodes to", () => {
  it.each(["", "_", "_2", "_2E", "_zz", "_41", "_ff", "a.b", "é", "m".repeat(65)])(
    "is refused: %j",
    (token) => {
      expect(() => decodeModelName(token)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
    },
  );
});

/** The token again when it decodes, else the code of the refusal. */
function decodeOrRefusal(token: string): string {
  try {
    return encodeModelName(decodeModelName(token));
  } catch (error) {
    return (error as { code: string }).code;
  }
}
