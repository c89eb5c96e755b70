import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSentenceEnds } from "./sentence-ends.ts";

function endsOf(pieces: readonly string[]): number[] {
  const ends = createSentenceEnds();
  let length = 0;
  return pieces.flatMap((piece) => {
    const offsets = ends.push(piece).map((offset) => offset + length);
    length += piece.length;
    return offsets;
  });
}

/** The text with a bar where a sentence has ended. */
function mark(text: string): string {
  const cuts = [0, ...endsOf([text]), text.length];
  return cuts
    .slice(1)
    .map((end, index) => text.slice(cuts[index], end))
    .join("|");
}

describe("a sentence ends", () => {
  test.each([
    [
      "after a mark, told by white space",
      "It is so. Is it? Yes!\nNo… ok",
      "It is so.| Is it?| Yes!|\nNo…| ok",
    ],
    [
      "after closing quotes and brackets",
      'He said "no." (Really.) *Done.* x',
      'He said "no."| (Really.)| *Done.*| x',
    ],
    ["once after many marks", "What?!... ok", "What?!...| ok"],
    ["at once where scripts have no spaces", "你好。再见！", "你好。|再见！|"],
    ["at a blank line", "A title\n\nText\n \t\r\nMore", "A title\n|\nText\n \t\r|\nMore"],
    ["after a year", "in 2024. Then", "in 2024.| Then"],
  ])("%s", (_, text, expected) => {
    expect(mark(text)).toBe(expected);
  });

  test.each([
    "Pi is 3.14 or v1.2.3 of node.js",
    "e.g. this, i.e. that, J. S. Bach",
    "Dr. No and Mr. X vs. Mrs. Y etc. pp",
    "one line\nand another",
    "no end at all.",
  ])("nowhere in %j", (text) => {
    expect(mark(text)).toBe(text);
  });

  test("at the same places however the text is cut into pieces", () => {
    const piece = fc.string({ unit: fc.constantFrom(...Array.from("abDr3.!?。\"') \n\t")), maxLength: 6 });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(endsOf(pieces)).toEqual(endsOf([pieces.join("")]));
      }),
    );
  });
});
