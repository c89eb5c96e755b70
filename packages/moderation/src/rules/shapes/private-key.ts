import type { ShapeSource } from "./shape-source.ts";

/** A PGP key of 4,096 bits with two subkeys takes 10,000; in quotes or strings more. */
const LONGEST = 16_384;

/** A line's end, also where JSON or source code escapes it, even twice. */
const LINE_END = String.raw`(?:\r|\n|\\{1,4}[nr]|\\{1,4}u000[aAdD]|<br ?/?>)`;
/** Text before, after and between the lines of a key: quotes of Markdown, strings and how they are joined, comments, numbers of lines. */
const DECORATION = String.raw`[\s"'\x60+.,>|#/*;:()\[\]{}&<~\\-]`;
const AROUND = String.raw`(?:${DECORATION}|${LINE_END})*`;
const NUMBER_OF_LINE = String.raw`(?:\d{1,4}[ \t]*[|:)]?[ \t]+)?`;
const NEXT_LINE = String.raw`${DECORATION}*${LINE_END}${AROUND}${NUMBER_OF_LINE}`;
const KEY = "[A-Za-z0-9+/=]";
/** A header of armor or PEM, before the key's lines. */
const HEADER = String.raw`(?:Version|Comment|MessageID|Hash|Charset|Proc-Type|DEK-Info|Key-Info|Content-Domain): [^\n\\]{0,200}`;
const LONG_LINE = `${AROUND}${NUMBER_OF_LINE}${KEY}{16,}`;
const SHORT_LINE = `${NEXT_LINE}${KEY}{1,15}`;

/**
 * A key in PEM or PGP's armor, to its END line where that comes: as it is in a file, and as quotes, lists of strings, comments and escapes
 * show it. A line of a key is a word of 16 letters or more, or a shorter one alone on its line.
 */
export const PRIVATE_KEY: ShapeSource = {
  name: "private-key",
  pattern:
    String.raw`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----` +
    `(?:${NEXT_LINE}${HEADER})*` +
    `(?:${LONG_LINE}|(?:${SHORT_LINE})+(?:${DECORATION}*${LINE_END}|(?m:$)))*` +
    `(?:${AROUND}${NUMBER_OF_LINE}-----END [A-Z0-9 ]{1,40}-----)?`,
  maxLength: LONGEST,
};
