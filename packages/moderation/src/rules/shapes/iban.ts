import { hasIbanCheck } from "./check-digits.ts";
import type { ShapeSource } from "./shape-source.ts";

/** The letters and digits of an account number, by country (SWIFT's IBAN registry). */
const LENGTHS = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 " +
    "GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 " +
    "MT31 MU30 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** Between two groups: a blank or two, a hyphen, a dot, a line's end with what quotes or indents the next one. */
const APART = String.raw`(?: {1,2}|[.-]|\r?\n[> \t]{0,3}|\\\\?n)`;

/** An account number, in one piece or in groups. */
export const IBAN: ShapeSource = {
  name: "iban",
  pattern: String.raw`\b(?:${[...LENGTHS.keys()].join("|")})\B\d\B\d(?:\B[A-Z0-9]|${APART}[A-Z0-9]){11,30}\b`,
  maxLength: 64,
  check: ibanLength,
};

/** Returns the length of the number. The match may have further letters after it, so only its beginning is checked. */
function ibanLength(text: string): number {
  const wanted = LENGTHS.get(text.slice(0, 2)) as number;
  let [end, number] = [0, ""];
  for (; end < text.length && number.length < wanted; end++)
    if (/[A-Z0-9]/.test(text.charAt(end))) number += text.charAt(end);
  const atBoundary = end === text.length || !/[A-Z0-9]/.test(text.charAt(end));
  return number.length === wanted && atBoundary && hasIbanCheck(number) ? end : 0;
}
