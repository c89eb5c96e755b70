import { describe, expect, it } from "vitest";
import { parseErrorAnswer, parseRetryAfter } from "./error-answer.ts";

function bodyOf(error: object): string {
  return JSON.stringify({ error: { code: "from_the_future", message: "Because.", ...error } });
}

describe("an error with a code that this client does not know", () => {
  it("is as retryable as the server says, with any status", () => {
    expect(parseErrorAnswer(bodyOf({ retryable: true }), { status: 409 }).retryable).toBe(true);
    expect(parseErrorAnswer(bodyOf({ retryable: false }), { status: 503 })).toMatchObject({
      code: "from_the_future",
      retryable: false,
      message: "Because.",
    });
  });

  it.each([
    [408, true],
    [425, true],
    [429, true],
    [500, true],
    [304, false],
    [400, false],
    [418, false],
  ])("and that says nothing of retries is, by its status %i, retryable: %s", (status, retryable) => {
    const error = parseErrorAnswer(bodyOf({}), { status });
    expect([error.retryable, error.message]).toEqual([retryable, "from_the_future: Because."]);
  });
});

it.each([
  "",
  "<h1>Bad gateway</h1>",
  "null",
  "[]",
  '"x"',
  '{"error":null}',
  '{"error":"x"}',
  '{"error":{"code":{}}}',
])("a body that is not ours is no obstacle: %s", (body) => {
  expect(parseErrorAnswer(body, { status: 401 })).toMatchObject({
    code: "unauthenticated",
    param: undefined,
  });
});

it("a known code is passed on with its message, its param and when to retry", () => {
  const body = JSON.stringify({ error: { code: "draining", message: "Bye.", param: "p", retryable: true } });
  const error = parseErrorAnswer(body, { status: 503, retryAfterMs: 1_000 });
  expect(error).toMatchObject({ code: "draining", message: "Bye.", param: "p", retryAfterMs: 1_000 });
});

it.each([
  [null, undefined],
  ["7", 7_000],
  ["Sat, 21 Nov 2026 00:00:12 GMT", 12_000],
  ["Fri, 20 Nov 2026 00:00:00 GMT", 0],
  ["soon", undefined],
])("Retry-After: %s is %s ms", (value, expected) => {
  expect(parseRetryAfter(value, Date.parse("2026-11-21T00:00:00Z"))).toBe(expected);
});
