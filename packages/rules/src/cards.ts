import type { ShapeSource } from "./shape-source.ts";
import { passesLuhn } from "./check-digits.ts";

/** The longest number with a separator after each digit but the last. */
const MAX_LENGTH = 37;

/** What a brand's numbers begin with, and how many digits they may have. */
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

/** Card numbers: 13 to 19 digits, alone or in groups with one blank or hyphen between two. */
export const CARDS: readonly ShapeSource[] = [
  { name: "card", pattern: String.raw`\b\d(?:[ -]?\d){12,18}\b`, maxLength: MAX_LENGTH, check: cardLength },
];

/** The longest card number that a digit run begins with, which ends where one of its groups does; 0 for none. */
function cardLength(run: string): number {
  const groups = run.split(/[ -]/);
  for (let count = groups.length; count > 0; count--) {
    const taken = groups.slice(0, count);
    if (isGrouped(taken) && isCard(taken.join(""))) return taken.join(" ").length;
  }
  return 0;
}

/** Groups of three and more, as cards print them, or digit by digit; not a list of small numbers. */
function isGrouped(groups: readonly string[]): boolean {
  return groups.every(({ length }) => length >= 3) || groups.every(({ length }) => length === 1);
}

function isCard(digits: string): boolean {
  return (
    BRANDS.some(([first, lengths]) => lengths.includes(digits.length) && first.test(digits)) &&
    passesLuhn(digits)
  );
}
