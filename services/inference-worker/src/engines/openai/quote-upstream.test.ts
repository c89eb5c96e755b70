import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quoteUpstream } from "./quote-upstream.ts";

const NOTHING_SECRET = { key: undefined, texts: [] };
const WITHHELD = "(its message repeats the request and is withheld)";

describe("what an upstream says about an error", () => {
  test.each([
    [{ error: { message: "no such model", type: "x", code: 404 } }, "no such model"],
    [{ error: "no such model" }, "no such model"],
    [{ object: "error", message: "no such model" }, "no such model"],
    [{ detail: "no such model" }, "no such model"],
    ["no such\r\n\tmodel\0", "no such model"],
    [{ error: {} }, undefined],
    [{ error: { message: "" } }, undefined],
    ["  ", undefined],
    [null, undefined],
    [7, undefined],
  ])("is found in %j", (answer, message) => {
    expect(quoteUpstream(answer, NOTHING_SECRET)).toBe(message);
  });

  test("is cut at 500 characters", () => {
    const quote = quoteUpstream("x".repeat(5_000), NOTHING_SECRET);
    expect(quote).toBe(`${"x".repeat(499)}…`);
  });

  test("is withheld when it holds the key", () => {
    expect(quoteUpstream("bad key sk-123456", { key: "sk-123456", texts: [] })).toBe(WITHHELD);
  });

  test("is passed on when it shares no more than a short word with the request", () => {
    const texts = ["What is the maximum context length?", "is"];
    expect(quoteUpstream("This model's maximum is 4096 tokens.", { key: undefined, texts })).toBe(
      "This model's maximum is 4096 tokens.",
    );
  });

  test("never holds 18 characters of the request in a row, nor the whole of a shorter text", () => {
    const word = fc
      .string({ minLength: 18, maxLength: 60 })
      .filter((text) => text.replace(/\s+/g, " ").trim() === text);
    fc.assert(
      fc.property(word, fc.string(), fc.string(), fc.string(), (repeated, before, after, around) => {
        const message = `${before}${repeated}${after}`;
        expect(quoteUpstream(message, { key: undefined, texts: [`${around}${repeated}${around}`] })).toBe(
          WITHHELD,
        );
      }),
    );
    expect(quoteUpstream("can't parse: my pin is 1", { key: undefined, texts: ["my pin is 1"] })).toBe(
      WITHHELD,
    );
  });
});
