import type { Mask } from "./masks.ts";

/**
 * Finds the marks of a redaction in its replacement text. The text between them is the original's, so it is found there in turn; the choice between two
 * equal places does not matter, for they read alike. Adjacent marks are one mask.
 * @param mark the replacement of each match
 * @returns undefined if the replacement is not the text with marks in it, such as a reviewer's own words
 */
export function alignReplacement(
  replacement: string,
  { raw, mark }: { raw: string; mark: string },
): Mask[] | undefined {
  if (mark === "") return undefined;
  const [first = "", ...pieces] = replacement.split(mark);
  const last = pieces.pop();
  if (last === undefined || !raw.startsWith(first) || !raw.endsWith(last)) return undefined;
  const masks: Mask[] = [];
  let from = first.length;
  let marks = mark;
  for (const piece of pieces) {
    if (piece === "") {
      marks += mark;
      continue;
    }
    const to = raw.indexOf(piece, from + 1);
    if (to === -1) return undefined;
    masks.push({ from, to, replacement: marks });
    from = to + piece.length;
    marks = mark;
  }
  const end = raw.length - last.length;
  return from < end ? [...masks, { from, to: end, replacement: marks }] : undefined;
}
