import { dniLetter, hasCpfChecks, hasFiscalCodeCheck, hasPeselCheck, hasTaxIdCheck } from "./check-digits.ts";
import { standingAlone } from "./context.ts";
import type { ShapeSource } from "./shape-source.ts";

/**
 * Numbers that states give to people, where their form or a check digit tells them from other numbers. Add a country here; what is
 * only a count of digits (a Dutch BSN, a passport) would find invoices.
 */
export const NATIONAL_IDS: readonly ShapeSource[] = [
  standingAlone(
    "us-ssn",
    String.raw`\b\d{3}-\d{2}-\d{4}`,
    11,
    (text) => !/^(?:000|666|9)|-00-|-0000$/.test(text),
  ),
  standingAlone(
    "uk-nino",
    String.raw`\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]`,
    13,
    (text) => !/^(?:BG|GB|KN|NK|NT|TN|ZZ)/.test(text),
  ),
  standingAlone("de-tax-id", String.raw`\b[1-9]\d(?:\d{9}|(?: \d{3}){3})`, 14, (text) =>
    hasTaxIdCheck(bare(text)),
  ),
  standingAlone(
    "es-dni",
    String.raw`\b(?:\d{8}|[XYZ]\d{7})-?[A-Z]`,
    10,
    (text) => dniLetter(bare(text).slice(0, -1)) === text.at(-1),
  ),
  {
    name: "fr-nir",
    pattern: String.raw`\b[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}\b`,
    maxLength: 21,
    check: whole((text) => hasNirKey(bare(text))),
  },
  {
    name: "it-fiscal-code",
    pattern: String.raw`\b[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]\b`,
    maxLength: 16,
    check: whole(hasFiscalCodeCheck),
  },
  standingAlone("pl-pesel", String.raw`\b\d{11}`, 11, hasPeselCheck),
  {
    name: "br-cpf",
    pattern: String.raw`\b\d{3}\.\d{3}\.\d{3}-\d{2}\b`,
    maxLength: 14,
    check: whole((text) => hasCpfChecks(bare(text))),
  },
];

function whole(counts: (text: string) => boolean): (text: string) => number {
  return (text) => (counts(text) ? text.length : 0);
}

function bare(text: string): string {
  return text.replaceAll(/[ .-]/g, "");
}

/** The last two digits are 97 less the rest modulo 97; Corsica's letters count as 19 and 18. */
function hasNirKey(text: string): boolean {
  const digits = text.replace("2A", "19").replace("2B", "18");
  return 97 - Number(BigInt(digits.slice(0, 13)) % 97n) === Number(digits.slice(13));
}
