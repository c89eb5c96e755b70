import { expect, test } from "vitest";
import { parseIfMatch } from "./etag.ts";

test("a version that no number holds is refused, not taken for another one", () => {
  expect(parseIfMatch('"9007199254740991"')).toBe(Number.MAX_SAFE_INTEGER);
  expect(() => parseIfMatch('"9007199254740993"')).toThrow(
    expect.objectContaining({ code: "invalid_request", param: "If-Match" }),
  );
});
