import { asSeq } from "../seq.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCursor, MAX_CURSOR_LENGTH, parseCursor, START } from "./cursor.ts";

const anyPart = fc.integer({ min: 0, max: 999_999_999 });
const anyNonce = fc.option(fc.stringMatching(/^[0-9a-f]{6}$/), { nil: undefined });

describe("a cursor", () => {
  it("comes back as the position it was made from", () => {
    fc.assert(
      fc.property(anyPart, anyNonce, anyPart, (attempt, nonce, seq) => {
        expect(parseCursor(encodeCursor({ attempt, nonce, seq: asSeq(seq) }))).toEqual({
          attempt,
          nonce,
          seq,
        });
      }),
    );
  });

  it("is printable ASCII of at most 26 characters, so that it fits a header, a query and an SSE id as it is", () => {
    fc.assert(
      fc.property(anyPart, anyNonce, anyPart, (attempt, nonce, seq) => {
        const cursor = encodeCursor({ attempt, nonce, seq: asSeq(seq) });
        expect(cursor).toMatch(/^[0-9a-f.-]+$/);
        expect(cursor.length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
      }),
    );
  });

  it("has one form only: encoding what was parsed gives the same text", () => {
    const nearlyCursor = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom("0", "1", "9", "-", " ", "+", "e", ".", "\n"), maxLength: 14 }),
      fc
        .tuple(fc.nat(), fc.constantFrom("-", "--", "- ", ":", "_", "-0", "\n-"), fc.nat())
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(nearlyCursor, (text) => {
        expect([text, "cursor_invalid"]).toContain(reencode(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    "",
    "0",
    "-",
    "1-",
    "-1",
    "01-1",
    "1-01",
    "1-1-1",
    "1-1\n",
    " 1-1",
    "+1-1",
    "1e3-1",
    "1.0-1",
    "1.-1",
    "1.0a1b2-1",
    "1.0a1b2c3-1",
    "1.0A1B2C-1",
    "1.0a1b2c",
    ".0a1b2c-1",
    "1-1000000000",
    "١-١",
    11,
    null,
    undefined,
    ["1-1"],
    { attempt: 1, seq: 1 },
  ])("is not %j", (value) => {
    expect(() => parseCursor(value, "Last-Event-ID")).toThrow(
      expect.objectContaining({ code: "cursor_invalid", param: "Last-Event-ID" }),
    );
  });

  it("of the start is before every event that readers see", () => {
    expect(encodeCursor(START)).toBe("0-0");
  });
});

/** The text again when it is a cursor, else the code of the refusal. */
function reencode(text: string): string {
  try {
    return encodeCursor(parseCursor(text));
  } catch (error) {
    return (error as { code: string }).code;
  }
}
