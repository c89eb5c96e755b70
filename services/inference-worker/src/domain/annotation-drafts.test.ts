import { asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toAnnotationDrafts } from "./annotation-drafts.ts";

const source = { type: "annotation", kind: "url", url: "https://a/" } as const;

test("code points of an engine's message become UTF-16 code units in the texts of events", () => {
  const texts = ["See ", "👩🏽 and", " 日本."].map((text, i) => ({ text, seq: asSeq(2 + 2 * i) }));
  const [emoji, across, whole] = toAnnotationDrafts(
    [
      { ...source, from: 4, to: 6 },
      { ...source, from: 7, to: 13 },
      { ...source, from: 0, to: 14 },
    ],
    texts,
  );
  expect(emoji).toEqual({
    type: "output.annotation",
    kind: "url",
    url: "https://a/",
    from_seq: 4,
    to_seq: 4,
    from_offset: 0,
    to_offset: 4,
  });
  expect(across).toMatchObject({ from_seq: 4, to_seq: 6, from_offset: 5, to_offset: 11 });
  expect(whole).toMatchObject({ from_seq: 2, to_seq: 6, from_offset: 0, to_offset: 16 });
});

test.each([
  ["beyond the text", 0, 4],
  ["empty", 1, 1],
  ["the wrong way round", 2, 1],
])("a range that is %s is left out", (_, from, to) => {
  const drafts = toAnnotationDrafts([{ ...source, from, to }], [{ seq: asSeq(2), text: "abc" }]);
  expect(drafts).toEqual([{ type: "output.annotation", kind: "url", url: "https://a/" }]);
});

test("any range of any text names just that text, however it is cut into events", () => {
  const anyTexts = fc.array(fc.string({ unit: "binary", maxLength: 6 }), { maxLength: 8 });
  fc.assert(
    fc.property(anyTexts, fc.nat(60), fc.nat(60), (parts, from, to) => {
      const texts = parts.map((text, i) => ({ text, seq: asSeq(i + 2) }));
      const points = Array.from(parts.join(""));
      const [draft] = toAnnotationDrafts([{ ...source, from, to }], texts);
      const place = draft as { from_seq?: number; to_seq?: number; from_offset?: number; to_offset?: number };
      const inside = texts.filter(({ seq }) => seq >= (place.from_seq ?? 0) && seq <= (place.to_seq ?? -1));
      const named = inside
        .map(({ text }) => text)
        .join("")
        .slice(place.from_offset, place.to_offset);
      const isRange = from < to && to <= points.length;
      expect(named).toBe(isRange ? points.slice(from, to).join("") : "");
    }),
  );
});
