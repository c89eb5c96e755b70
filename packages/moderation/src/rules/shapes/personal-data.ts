import { IBAN } from "./iban.ts";
import { NATIONAL_IDS } from "./national-ids.ts";
import { PHONES } from "./phones.ts";
import type { ShapeSource } from "./shape-source.ts";

/** RFC 5321 §4.5.3.1.3, without the angle brackets. */
const LONGEST_ADDRESS = 254;

export const PERSONAL_DATA: readonly ShapeSource[] = [
  {
    name: "email",
    pattern: String.raw`\b\w[\w.%+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,24}`,
    maxLength: LONGEST_ADDRESS,
    check: (text) => (/^git@|@\d+\.\d|@\dx\./.test(text) ? 0 : text.length),
  },
  IBAN,
  ...PHONES,
  ...NATIONAL_IDS,
];
