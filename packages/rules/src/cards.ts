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
  for (let end = run.length; end >= 13; end--) {
    if (end < run.length && /\d/.test(run.charAt(end))) continue;
    const digits = run.slice(0, end).replaceAll(/\D/g, "");
    if (/\d$/.test(run.slice(0, end)) && isCard(digits)) return end;
  }
  return 0;
}

function isCard(digits: string): boolean {
  return (
    BRANDS.some(([first, lengths]) => lengths.includes(digits.length) && first.test(digits)) &&
    passesLuhn(digits)
  );
}
