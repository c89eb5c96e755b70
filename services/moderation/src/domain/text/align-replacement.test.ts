import * as fc from "fast-check";
import { expect, test } from "vitest";
import { alignReplacement } from "./align-replacement.ts";

const MARK = "***";

test.each([
  ["a secret and hush", "a *** and hush", [[2, 8]]],
  [
    "a secret and hush",
    "a *** and ***",
    [
      [2, 8],
      [13, 17],
    ],
  ],
  ["secret", "***", [[0, 6]]],
  ["a secret", "a word of a reviewer's own", undefined],
  ["a secret", "*** b", undefined],
  ["a secret, b", "a ******, b", [[2, 8]]],
  ["a ", "a ***", undefined],
] satisfies [string, string, [number, number][] | undefined][])(
  "finds the marks of %j in %j",
  (raw, replacement, expected) => {
    const masks = alignReplacement(replacement, { raw, mark: MARK });
    expect(masks?.map(({ from, to }) => [from, to])).toEqual(expected);
  },
);

test("an empty mark has no place", () => {
  expect(alignReplacement("a ", { raw: "a secret", mark: "" })).toBeUndefined();
});

test("masks that are found read like the replacement", () => {
  const part = fc.record({
    clean: fc.stringMatching(/^[ab]{1,3}$/),
    hidden: fc.stringMatching(/^[abc]{1,3}$/),
  });
  const property = fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
    const raw = parts.map(({ clean, hidden }) => clean + hidden).join("");
    const replacement = parts.map(({ clean }) => clean + MARK).join("");
    const masks = alignReplacement(replacement, { raw, mark: MARK });
    if (!masks) return;
    let text = "";
    let at = 0;
    for (const { from, to, replacement: marks } of masks) {
      text += raw.slice(at, from) + marks;
      at = to;
    }
    expect(text + raw.slice(at)).toBe(replacement);
  });
  fc.assert(property, { seed: 20_261_122, numRuns: 2_000 });
});
