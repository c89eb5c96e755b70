import { describe, expect, it } from "vitest";
import { ERROR_CATALOGUE, type ErrorCode, isErrorCode } from "./error-code.ts";
import { toHttpStatus } from "./http-status.ts";
import { RepriseError, toErrorBody, toRepriseError } from "./reprise-error.ts";

const CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[];

describe.each(CODES)("the error %s", (code) => {
  it("has an HTTP status of an error", () => {
    expect(toHttpStatus(code)).toBeGreaterThanOrEqual(400);
    expect(toHttpStatus(code)).toBeLessThan(600);
  });

  it("says its code, its message and whether a retry can help, and nothing else", () => {
    const { retryable } = ERROR_CATALOGUE[code];
    const error = new RepriseError(code, "what went wrong", { cause: new Error("secret"), retryAfterMs: 5 });
    expect(JSON.parse(JSON.stringify(toErrorBody(error)))).toEqual({
      error: { code, message: "what went wrong", retryable },
    });
  });
});

it("an error about a field names it in its body", () => {
  const error = new RepriseError("invalid_request", "stop: too long", { param: "stop" });
  expect(Object.keys(toErrorBody(error).error)).toEqual(["code", "message", "param", "retryable"]);
});

it.each(["nope", "", "toString", "__proto__", undefined, 7])("%j is no error code", (value) => {
  expect(isErrorCode(value)).toBe(false);
});

describe("a thrown value", () => {
  it("that is an error of ours stays as it is", () => {
    const error = new RepriseError("draining", "on the way out");
    expect(toRepriseError(error)).toBe(error);
  });

  it.each([new TypeError("password=hunter2"), "password=hunter2", undefined, null])(
    "of another kind tells clients nothing: %s",
    (thrown) => {
      const error = toRepriseError(thrown);
      expect(error.code).toBe("internal");
      expect(JSON.stringify(toErrorBody(error))).not.toContain("hunter2");
    },
  );

  it("of another kind is kept for the log", () => {
    const cause = new TypeError("x");
    expect(toRepriseError(cause).cause).toBe(cause);
  });
});
