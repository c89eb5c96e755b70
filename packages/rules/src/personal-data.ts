import { hasIbanCheck } from "./check-digits.ts";
import { NATIONAL_IDS } from "./national-ids.ts";
import type { ShapeSource } from "./shape-source.ts";

/** RFC 5321 §4.5.3.1.3, without the angle brackets. */
const LONGEST_ADDRESS = 254;

/** E.164 allows 15 digits; up to three separators stand between two. */
const FEWEST_DIGITS = 8;
const MOST_GROUPS = 6;

export const PERSONAL_DATA: readonly ShapeSource[] = [
  {
    name: "email",
    pattern: String.raw`\b\w[\w.%+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,24}`,
    maxLength: LONGEST_ADDRESS,
    check: (text) => (/^git@|@\d+\.\d/.test(text) ? 0 : text.length),
  },
  {
    name: "iban",
    pattern: String.raw`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b`,
    maxLength: 64,
    check: ibanLength,
  },
  {
    name: "phone-international",
    pattern: String.raw`\B\+[1-9](?:[ .()/-]{0,3}\d){7,14}\b`,
    maxLength: 58,
    check: internationalLength,
  },
  {
    name: "phone-north-america",
    pattern: String.raw`(?:\b1[ .-]?)?(?:\([2-9]\d\d\) ?|\b[2-9]\d\d[.-])[2-9]\d\d[ .-]\d{4}\b`,
    maxLength: 16,
  },
  {
    name: "phone-national",
    // France in pairs; a trunk prefix and two or three groups; mobile numbers of France and Britain in one piece.
    pattern: String.raw`\b(?:0[1-9](?:[ .]\d{2}){4}|0[1-9]\d{1,4}[ /-]\d{3,4}[ -]?\d{3,5}|0[67]\d{8,9})\b`,
    maxLength: 18,
    check: (text) => (digitsOf(text).length >= 10 ? text.length : 0),
  },
  ...NATIONAL_IDS,
];

/** The letters and digits of an account number, by country (SWIFT's IBAN registry). */
const IBAN_LENGTHS = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 " +
    "GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 " +
    "MT31 MU30 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

function ibanLength(text: string): number {
  const wanted = IBAN_LENGTHS.get(text.slice(0, 2));
  if (wanted === undefined) return 0;
  let end = 0;
  for (let counted = 0; end < text.length && counted < wanted; end++) if (text.charAt(end) !== " ") counted++;
  const number = text.slice(0, end).replaceAll(" ", "");
  const atBoundary = end === text.length || text.charAt(end) === " ";
  return number.length === wanted && atBoundary && hasIbanCheck(number) ? end : 0;
}

function internationalLength(text: string): number {
  const groups = text.split(/\D+/).filter((group) => group !== "");
  return groups.length <= MOST_GROUPS && digitsOf(text).length >= FEWEST_DIGITS ? text.length : 0;
}

function digitsOf(text: string): string {
  return text.replaceAll(/\D/g, "");
}
