import type { ShapeSource } from "./shape-source.ts";
import { hasEanCheck, passesLuhn } from "./check-digits.ts";

/** The longest run: of digits apart, enough of them to tell a list from a number. */
const MAX_LENGTH = 45;
const MOST_DIGITS = 19;

/** The beginnings of a brand's numbers, and their possible numbers of digits. */
const BRANDS: readonly (readonly [first: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 18, 19]], // Visa
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, [16]], // Mastercard
  [/^3[47]/, [15]], // American Express
  [/^3(?:0[0-5]|095|[689])/, [14, 16, 19]], // Diners Club
  [/^(?:6011|64[4-9]|65)/, [16, 19]], // Discover
  [/^35(?:2[89]|[3-8])/, [16, 17, 18, 19]], // JCB
  [/^62/, [16, 17, 18, 19]], // UnionPay
  [/^(?:5018|5020|5038|5[68]93|6304|67)/, [13, 14, 15, 16, 17, 18, 19]], // Maestro
  [/^220[0-4]/, [16, 17, 18, 19]], // Mir
  [/^(?:60|81|82|508)/, [16]], // RuPay
];

/** Another digit, directly after a digit: a footnote sign does not count as one. */
const ON = String.raw`\B\d`;
/** Separators of numbers in print. */
const PARTED = "[ -]";
/** Further separators of groups in texts: two blanks, a dot, or a line end with quotes or indents of the next line. */
const APART = String.raw`(?: {1,3}|\t| ?[./_|-] ?| ?\r?\n[> \t]{0,3}|(?:\\\\?[rnt]){1,2})`;
const FIRST = String.raw`(?:[34568]${ON}|2\B[2-7])(?:${ON}){2}`;

/**
 * Card numbers: 13 to 19 digits, with one blank or hyphen between two, in any groups; and in the groups that cards have, with other
 * things between the groups.
 */
export const CARDS: readonly ShapeSource[] = [
  {
    name: "card",
    pattern:
      String.raw`\b(?:(?:[34568](?:${ON}|${PARTED}\d)|2(?:\B|${PARTED})[2-7])(?:${ON}|${PARTED}\d){11,21}` +
      String.raw`|${FIRST}(?:${APART}\d(?:${ON}){3}){2,3}(?:${APART}\d(?:${ON}){0,3})?` +
      String.raw`|${FIRST}${APART}\d(?:${ON}){5}${APART}\d(?:${ON}){3,4})\b`,
    maxLength: MAX_LENGTH,
    check: cardLength,
  },
];

/** The sizes of the groups that cards are printed in, where what is between them is nothing that numbers are parted by. */
const PRINTED = /^(?:4,6,[45]|4,4,4,(?:1|4|4,[123]))$/;

interface Part {
  readonly digits: string;
  /** The separator between it and the one before. */
  readonly gap: string;
}

/** The longest card number that a run begins with, which ends where one of its groups does; 0 for none. */
function cardLength(run: string, before: string): number {
  const parts = Array.from(run.matchAll(/(\D*)(\d+)/g), ([, gap = "", digits = ""]): Part => ({
    digits,
    gap,
  }));
  for (let count = parts.length; count > 0; count--) {
    const taken = parts.slice(0, count);
    const number = taken.map(({ digits }) => digits).join("");
    if (!isCard(number) || !isWritten(taken, parts[count], before)) continue;
    return taken.reduce((length, { gap, digits }) => length + gap.length + digits.length, 0);
  }
  return 0;
}

/** True if a number is written as one: in groups, or digit by digit; false for a list of numbers that happen to form one. */
function isWritten(parts: readonly Part[], next: Part | undefined, before: string): boolean {
  const gaps = parts.slice(1).map(({ gap }) => gap);
  const sizes = parts.map(({ digits }) => digits.length);
  const isPrinted = PRINTED.test(sizes.join());
  const [, last = "", lastGap = ""] = /(\d+)(\D+)$/.exec(before) ?? [];
  if (gaps.every(isCommon)) {
    const listed = isListed(sizes, next, isCommon(lastGap) ? last : "");
    if (sizes.every((size) => size === 1)) return parts.length <= MOST_DIGITS && !listed;
    return gaps.length === 0 || isPrinted || (sizes.every((size) => size >= 3) && !listed);
  }
  const kinds = new Set(gaps.map(kindOf));
  // A number may be broken once where the line ends.
  if (gaps.filter((gap) => kindOf(gap) === "\n").length === 1) kinds.delete(" ");
  if (!isPrinted || kinds.size > 1) return false;
  const joins = (gap: string, digits: string): boolean => digits.length >= 4 && kinds.has(kindOf(gap));
  return !joins(lastGap, last) && !(next && joins(next.gap, next.digits));
}

function isCommon(gap: string): boolean {
  return gap === " " || gap === "-";
}

/** True if numbers of such sizes continue before or after it. */
function isListed(sizes: readonly number[], next: Part | undefined, last: string): boolean {
  const alike = (size: number): boolean => (sizes[0] === 1 ? size === 1 : size >= 3);
  return alike(last.length) || (next !== undefined && alike(next.digits.length));
}

/** Returns the separator of two groups, without the blanks around it. */
function kindOf(gap: string): string {
  return /[\n\\]/.test(gap) ? "\n" : gap.trim() || " ";
}

function isCard(digits: string): boolean {
  return (
    BRANDS.some(([first, lengths]) => lengths.includes(digits.length) && first.test(digits)) &&
    passesLuhn(digits) &&
    !hasEanCheck(digits)
  );
}
