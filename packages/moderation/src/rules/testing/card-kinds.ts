import { passesLuhn } from "../shapes/check-digits.ts";
import { DIGITS, type Draw } from "./draw.ts";
import type { Kind } from "./kind.ts";

const BRANDS: readonly (readonly [name: string, prefixes: readonly string[], length: number])[] = [
  ["Visa", ["4"], 16],
  ["Visa of 19 digits", ["4"], 19],
  ["Mastercard", ["51", "53", "55", "2221", "2720", "2512"], 16],
  ["American Express", ["34", "37"], 15],
  ["Diners Club", ["300", "305", "36", "38"], 14],
  ["Discover", ["6011", "644", "65"], 16],
  ["JCB", ["3528", "3566", "3589"], 16],
  ["UnionPay", ["62"], 16],
  ["Maestro", ["5018", "6304", "67"], 16],
  ["Mir", ["2200", "2204"], 16],
  ["RuPay", ["60", "81", "508"], 16],
];

/** Groups of digits as each brand prints its numbers. */
const GROUPS: Readonly<Record<number, readonly number[]>> = {
  14: [4, 6, 4],
  15: [4, 6, 5],
  16: [4, 4, 4, 4],
  19: [4, 4, 4, 4, 3],
};

const SEPARATORS = {
  "blanks between groups": " ",
  "hyphens between groups": "-",
  "dots between groups": ".",
  "newlines between groups": "\n",
  "two blanks between groups": "  ",
  "tabs between groups": "\t",
  "en dashes between groups": "\u2013",
  "hyphens and blanks between groups": " - ",
  "no-break blanks between groups": "\u00a0",
  "slashes between groups": "/",
  "underscores between groups": "_",
  "Windows' line ends between groups": "\r\n",
} as const;

const LAYOUTS: Kind["layouts"] = {
  "in one piece": (bare) => bare,
  ...Object.fromEntries(
    Object.entries(SEPARATORS).map(([name, separator]) => [
      name,
      (bare: string) => grouped(bare).join(separator),
    ]),
  ),
  "a blank too many": (bare) => grouped(bare).join(" ").replace(" ", "  "),
  "digit by digit": (bare) => Array.from(bare).join(" "),
  "digit by digit with hyphens": (bare) => Array.from(bare).join("-"),
  "broken where the line ends": (bare) => {
    const [first = "", second = "", ...rest] = grouped(bare);
    return `${first} ${second}\n${rest.join(" ")}`;
  },
  "fullwidth digits": (bare) => shifted(grouped(bare).join(" "), 0xff_10),
  "mathematical digits": (bare) => shifted(bare, 0x1_d7_ce),
  "Arabic digits": (bare) => shifted(grouped(bare).join(" "), 0x6_60),
  "superscript digits": (bare) => bare.replaceAll(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(Number(digit))),
  "zero-width blanks between groups": (bare) => grouped(bare).join("\u200b"),
};

export const CARD_KINDS: readonly Kind[] = BRANDS.map(([name, prefixes, length]) => ({
  name,
  rule: "cards.card",
  form: "strong",
  make: (draw) => withLuhn(draw.one(prefixes), length, draw),
  layouts: LAYOUTS,
}));

function withLuhn(prefix: string, length: number, draw: Draw): string {
  const body = prefix + draw.text(DIGITS, length - prefix.length - 1);
  return body + Array.from(DIGITS).find((digit) => passesLuhn(body + digit));
}

function grouped(bare: string): string[] {
  let at = 0;
  return (GROUPS[bare.length] as readonly number[]).map((size) => bare.slice(at, (at += size)));
}

function shifted(text: string, zero: number): string {
  return text.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
}
