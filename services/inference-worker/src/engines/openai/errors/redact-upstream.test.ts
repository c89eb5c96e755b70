import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_WORDS } from "./error-vocabulary.ts";
import { redactUpstream } from "./redact-upstream.ts";

describe("what an upstream says about an error", () => {
  test.each([
    [{ error: { message: "no such model", type: "NotFoundError", code: 404 } }, "Not Found Error no … model"],
    [{ error: "model is loading" }, "model is loading"],
    [{ error: "Model is overloaded", error_type: "overloaded" }, "overloaded Model is overloaded"],
    [{ object: "error", message: "CUDA out of memory" }, "CUDA out of memory"],
    [{ detail: "invalid\r\n\trequest\0" }, "invalid request"],
    [
      "This model's maximum context length is 4096 tokens.",
      "This model … maximum context length is 4096 tokens",
    ],
    ["requested 5000 tokens", "requested 5000 tokens"],
    [{ error: {} }, undefined],
    [{ error: { message: "" } }, undefined],
    ["  ", undefined],
    [null, undefined],
    [7, undefined],
  ])("of %j is told as %s", (answer, said) => {
    expect(redactUpstream(answer)).toBe(said);
  });

  test.each([
    "My card is 4111 1111 1111 1111 tokens",
    "code 41111111111111 tokens",
    "token eyJhbGciOi sk-123456",
    "mail someone@example.org",
    "the password of Project Falcon",
    "le mot de passe est café 日本",
  ])("leaves out what is not an error's: %s", (message) => {
    expect(redactUpstream(message)).not.toMatch(
      /41|11|eyJ|sk|123|someone|example|password|Falcon|passe|café|日/,
    );
  });

  test("holds no word but an error's, and no number of more than seven digits, for any answer", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (message) => {
        for (const part of (redactUpstream(message) ?? "").split(" ")) {
          expect(
            part === "" || part === "…" || /^\d{1,7}$/.test(part) || ERROR_WORDS.has(part.toLowerCase()),
          ).toBe(true);
        }
      }),
    );
  });

  test("is cut at 500 characters", () => {
    expect(redactUpstream("error ".repeat(1_000))).toHaveLength(500);
  });
});
