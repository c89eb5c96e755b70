import { standingAlone } from "./context.ts";
import type { ShapeSource } from "./shape-source.ts";

/** E.164 allows 15 digits. */
const FEWEST_DIGITS = 8;
const MOST_GROUPS = 6;
const FEWEST_NATIONAL_DIGITS = 10;
/** The highest number of a lottery. */
const LOTTERY = 50;

/** E.164's country codes. */
const COUNTRY =
  /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(?:2[1-689]|3[578]|42|5[09]|6[7-9]|8[05-8]|9[679])\d)$/;
/** After the country's 1 or 7 come ten digits. */
const OF_ELEVEN = /^[17]/;

export const PHONES: readonly ShapeSource[] = [
  {
    name: "phone-international",
    pattern: String.raw`\+[1-9](?:(?:\B|[ ./-]|[ -]?\(|\)[ -]?)\d){7,14}\b`,
    maxLength: 44,
    check: internationalLength,
  },
  standingAlone(
    "phone-north-america",
    String.raw`(?:\b1[ .-]?)?(?:\([2-9][0-8]\d\) ?|\b[2-9][0-8]\d[.-])[2-9]\d\d[ .-]\d{4}`,
    16,
    isNorthAmerican,
  ),
  // France in pairs; a trunk prefix and two or three groups; mobile numbers of France and Britain in one piece.
  standingAlone(
    "phone-national",
    String.raw`\b0[1-9](?:[ .]\d{2}){4}(?:[ .][0-9a-f]{2}\b)?|\b0[1-9]\d{1,4}[ /-]\d{3,4}[ -]?\d{3,5}(?: \d{3,4}\b)?|\b0[67]\d{8,9}`,
    22,
    (number, before) => (/^0\d[ .]/.test(number) ? isInPairs(number, before) : isNational(number, before)),
  ),
];

function internationalLength(text: string, before: string): number {
  const groups = text.match(/\d+/g) ?? [];
  const [country = "", ...rest] = groups;
  const digits = groups.join("");
  const joined = /[A-Za-z0-9]$/.test(before) && !/\\[nrt]$/.test(before);
  if (joined || groups.length > MOST_GROUPS || digits.length < FEWEST_DIGITS) return 0;
  // A separate country code must be a valid one; a number in one piece begins with one.
  if (country.length <= 3 ? !COUNTRY.test(country) : text.includes(".")) return 0;
  if (OF_ELEVEN.test(digits) && digits.length !== 11) return 0;
  // Only the area code may have one digit, or be in front of one that is left out abroad: +81 3-0000-0000, +44 (0)20.
  const lone = rest.slice(rest[0] === "0" ? 2 : 1).some((group) => group.length === 1);
  return lone ? 0 : text.length;
}

function isNorthAmerican(number: string): boolean {
  const [area = "", exchange = ""] = number.replace(/^1\D?/, "").match(/\d{3}/g) ?? [];
  const evenly = number.includes("(") || /^(?:1[ .-]?)?\d{3}([.-])\d{3}\1/.test(number);
  return evenly && !area.endsWith("11") && !exchange.endsWith("11");
}

/** Five pairs that are no list: of bytes, of a lottery's numbers, of a count. */
function isInPairs(number: string, before: string): boolean {
  const pairs = number.split(/[ .]/);
  if (pairs.length !== 5 || (number.includes(" ") && number.includes("."))) return false;
  if (/[0-9a-fA-F]{2}[ .,:]{1,3}$/.test(before)) return false;
  const rising = pairs.every((pair, at) => at === 0 || Number(pair) > Number(pairs[at - 1]));
  return !rising || Number(pairs.at(-1)) >= LOTTERY;
}

function isNational(number: string, before: string): boolean {
  const digits = number.replaceAll(/\D/g, "");
  if (digits.length < FEWEST_NATIONAL_DIGITS || digits.includes("00000")) return false;
  const listed = /\d{3} $/.test(before) || /^\d+ \d+ \d+ \d{3,4}$/.test(number);
  return !listed;
}
