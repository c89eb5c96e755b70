import { expect, test } from "vitest";
import { encodePageCursor, parsePageCursor } from "./page-cursor.ts";

test("the end of a page is found again from what the page has said", () => {
  const place = { createdUs: 1_795_000_000_000_000, generation: `gen_0_${"v".repeat(26)}` };
  expect(parsePageCursor(encodePageCursor(place))).toEqual(place);
});

test("what no page has said is refused", () => {
  for (const after of ["", "x", "MQ", Buffer.from("1.'; drop table").toString("base64url"), "1".repeat(99)])
    expect(() => parsePageCursor(after)).toThrow(expect.objectContaining({ code: "invalid_request" }));
});
