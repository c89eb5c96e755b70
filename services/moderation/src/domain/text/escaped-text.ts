import type { RuleFinding, RuleSet } from "@reprise/moderation";
import { type Judging, pushInPieces } from "./push-in-pieces.ts";

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g;
const PLAIN: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * Finds matches of rules in JSON text with its escapes undone: `\u0073ecret` is a word, and the `n` of `\nsecret` belongs to none. Offsets
 * are those of the original text.
 * @param known findings in the original text, which are not repeated
 */
export function* findEscaped(
  text: string,
  { createScanner, pieceLength }: Pick<RuleSet, "createScanner" | "pieceLength">,
  known: readonly RuleFinding[],
): Judging<RuleFinding[]> {
  if (!text.includes("\\")) return [];
  let read = "";
  /** Where each character that is read begins in the text, and where the last one ends. */
  const starts: number[] = [];
  let at = 0;
  const copyTo = (end: number) => {
    for (let from = at; from < end; from++) starts.push(from);
    read += text.slice(at, end);
    at = end;
  };
  for (const { 0: escape, 1: code, 2: letter = "", index } of text.matchAll(ESCAPE)) {
    copyTo(index);
    starts.push(index);
    read += code === undefined ? (PLAIN[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16));
    at += escape.length;
  }
  copyTo(text.length);
  starts.push(text.length);
  const keys = new Set(known.map(keyOf));
  const scanner = createScanner();
  const found = yield* pushInPieces(scanner, read, pieceLength);
  return (
    [...found, ...scanner.end()]
      // `starts` has an entry for each character of `read`, and for its end.
      .map((finding) => ({ ...finding, from: starts[finding.from]!, to: starts[finding.to]! }))
      .filter((finding) => !keys.has(keyOf(finding)))
  );
}

function keyOf({ rule, from, to }: RuleFinding): string {
  return `${rule} ${from} ${to}`;
}
