import {
  dniLetter,
  hasCpfChecks,
  hasFiscalCodeCheck,
  hasIbanCheck,
  hasPeselCheck,
  hasTaxIdCheck,
} from "../shapes/check-digits.ts";
import { DIGITS, type Draw, LOWER, UPPER } from "./draw.ts";
import type { Kind } from "./kind.ts";

const FIRST_NAMES = [
  "ada",
  "jean.luc",
  "maria",
  "li_wei",
  "o.brien",
  "tomasz+shop",
  "k",
  "anna-lena",
  "j.r.r.t",
];
const HOSTS = ["example.org", "mail.example.com", "example.net", "post.example.co.uk", "a-b.example.de"];
const BOUNDARY_DIGITS = "123456789";

/** The form of a country's account number: `0` is replaced by a digit, `A` by a capital, any other character is literal. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  DE: "000000000000000000",
  GB: "AAAA00000000000000",
  FR: "0000000000000000000000A00".slice(0, 23),
  NL: "AAAA0000000000",
  ES: "00000000000000000000",
  IT: "A0000000000000000000000",
  PL: "000000000000000000000000",
  CH: "00000000000000000",
  NO: "00000000000",
  SA: "00000000000000000000",
};

/** The first number drawn that passes. */
function passing(draw: () => string, passes: (text: string) => boolean): string {
  for (;;) {
    const text = draw();
    if (passes(text)) return text;
  }
}

function iban(draw: Draw): string {
  const country = draw.one(Object.keys(ACCOUNTS));
  const account = (ACCOUNTS[country] as string).replaceAll(/[0A]/g, (of) =>
    draw.one(of === "0" ? DIGITS : UPPER),
  );
  const check = Array.from({ length: 97 }, (_, at) => String(at + 2).padStart(2, "0"));
  return country + check.find((digits) => hasIbanCheck(country + digits + account)) + account;
}

const groupsOf = (size: number, separator: string) => (bare: string) =>
  (bare.match(new RegExp(`.{1,${size}}`, "g")) ?? []).join(separator);

/** Numbers that are kept for films and books, where a country has such. */
const FICTION = {
  france: (draw: Draw) =>
    `${draw.one(["1 99 00", "2 61 91", "3 53 01", "6 39 98"])} ${draw.text(DIGITS, 2)} ${draw.text(DIGITS, 2)}`,
  britain: (draw: Draw) => draw.one([`20 7946 0${draw.text(DIGITS, 3)}`, `7700 900${draw.text(DIGITS, 3)}`]),
  germany: (draw: Draw) => draw.one([`30 23125${draw.text(DIGITS, 3)}`, `171 39200${draw.text(DIGITS, 2)}`]),
  america: (draw: Draw) => [
    draw.one(["212", "415", "608", "808", "919"]),
    "555",
    `01${draw.text(DIGITS, 2)}`,
  ],
};

const ABROAD: readonly ((draw: Draw) => string)[] = [
  (draw) => `+33 ${FICTION.france(draw)}`,
  (draw) => `+44 ${FICTION.britain(draw)}`,
  (draw) => `+44 (0)${FICTION.britain(draw)}`,
  (draw) => `+49 ${FICTION.germany(draw)}`,
  (draw) => `+1 ${FICTION.america(draw).join("-")}`,
  (draw) =>
    `+1 (${FICTION.america(draw)
      .join(") ")
      .replace(/ (?=01)/, "-")}`,
  (draw) => `+61 491 570 ${draw.text(DIGITS, 3)}`,
  (draw) => `+46 70 174 06 ${draw.text(DIGITS, 2)}`,
  (draw) => `+353 20 91${draw.text(DIGITS, 5)}`,
  (draw) => `+7 495 000-${draw.text(DIGITS, 2)}-${draw.text(DIGITS, 2)}`,
  (draw) => `+55 11 90000-${draw.text(DIGITS, 4)}`,
  (draw) => `+81 3-0000-${draw.text(DIGITS, 4)}`,
  (draw) => `+91 90000 ${draw.text(DIGITS, 5)}`,
];

function kind(rule: string, name: string, make: (draw: Draw) => string, more: Partial<Kind> = {}): Kind {
  return { rule: `personal-data.${rule}`, name, form: "weak", make, ...more };
}

const AS_IT_IS = { "as it is": (bare: string) => bare };
const IN_ONE_PIECE = { "in one piece": (bare: string) => bare.replaceAll(/[ .()-]/g, "") };

export const PERSONAL_KINDS: readonly Kind[] = [
  kind(
    "email",
    "e-mail address",
    (draw) => `${draw.one(FIRST_NAMES)}${draw.text(LOWER, 2)}@${draw.one(HOSTS)}`,
  ),
  kind(
    "email",
    "e-mail address with digits",
    (draw) => `${draw.text(LOWER, 4)}${draw.text(DIGITS, 3)}@example.com`,
  ),
  kind("iban", "IBAN", iban, {
    form: "strong",
    layouts: {
      "in one piece": (bare) => bare,
      "blanks between groups": groupsOf(4, " "),
      "hyphens between groups": groupsOf(4, "-"),
      "dots between groups": groupsOf(4, "."),
      "two blanks between groups": groupsOf(4, "  "),
      "no-break blanks between groups": groupsOf(4, "\u00a0"),
      "en dashes between groups": groupsOf(4, "\u2013"),
      "broken where the line ends": (bare) => groupsOf(4, " ")(bare).replace(/(?<=^.{14}) /, "\n"),
    },
  }),
  kind("phone-international", "phone number, international", (draw) => draw.one(ABROAD)(draw), {
    layouts: {
      ...AS_IT_IS,
      "in one piece": (bare) => bare.replaceAll(/\(0\)|[ ()-]/g, ""),
      hyphens: (bare) => bare.replaceAll(/\(0\)/g, "").replaceAll(/[ ()-]+/g, "-"),
      dots: (bare) => bare.replaceAll(/\(0\)/g, "").replaceAll(/[ ()-]+/g, "."),
      "no-break blanks": (bare) => bare.replaceAll(" ", "\u00a0"),
    },
  }),
  kind("phone-north-america", "phone number, North America", (draw) => FICTION.america(draw).join("-"), {
    layouts: {
      hyphens: (bare) => bare,
      dots: (bare) => bare.replaceAll("-", "."),
      "area code in parentheses": (bare) => bare.replace(/^(\d+)-/, "($1) "),
      "with the country's 1": (bare) => `1-${bare}`,
    },
  }),
  kind("phone-national", "phone number, France", (draw) => `0${FICTION.france(draw)}`, {
    layouts: { ...AS_IT_IS, dots: (bare) => bare.replaceAll(" ", ".") },
  }),
  kind("phone-national", "phone number, France, mobile", (draw) => `063998${draw.text(DIGITS, 4)}`),
  kind(
    "phone-national",
    "phone number, Britain",
    (draw) => `0${FICTION.britain(draw)}`.replace(/^07700 /, "07700 "),
    {
      layouts: { ...AS_IT_IS, hyphens: (bare) => bare.replaceAll(" ", "-") },
    },
  ),
  kind("phone-national", "phone number, Germany", (draw) => `0${FICTION.germany(draw)}`, {
    layouts: {
      ...AS_IT_IS,
      slash: (bare) => bare.replace(" ", "/"),
      hyphen: (bare) => bare.replace(" ", "-"),
    },
  }),
  kind("us-ssn", "US social security number", (draw) =>
    [draw.number(101, 665), draw.text(BOUNDARY_DIGITS, 2), draw.text(BOUNDARY_DIGITS, 4)].join("-"),
  ),
  kind(
    "uk-nino",
    "UK national insurance number",
    (draw) =>
      [
        draw.one(["AB", "CE", "JG", "LM", "PW", "SY"]),
        draw.text(DIGITS, 2),
        draw.text(DIGITS, 2),
        draw.text(DIGITS, 2),
        draw.one("ABCD"),
      ].join(" "),
    { layouts: { ...AS_IT_IS, ...IN_ONE_PIECE } },
  ),
  kind(
    "de-tax-id",
    "German tax number",
    (draw) => {
      const bare = passing(() => draw.one(BOUNDARY_DIGITS) + draw.text(DIGITS, 10), hasTaxIdCheck);
      return bare.replace(/^(..)(...)(...)(...)$/, "$1 $2 $3 $4");
    },
    { layouts: { ...AS_IT_IS, ...IN_ONE_PIECE } },
  ),
  kind(
    "es-dni",
    "Spanish DNI or NIE",
    (draw) => {
      const number = draw.one([draw.text(DIGITS, 8), draw.one("XYZ") + draw.text(DIGITS, 7)]);
      return `${number}-${dniLetter(number)}`;
    },
    { layouts: { ...AS_IT_IS, ...IN_ONE_PIECE } },
  ),
  kind(
    "fr-nir",
    "French social security number",
    (draw) => {
      const month = String(draw.number(1, 12)).padStart(2, "0");
      const bare = `${draw.one("12")}${draw.text(DIGITS, 2)}${month}${draw.number(10, 95)}${draw.text(DIGITS, 6)}`;
      const key = String(97 - Number(BigInt(bare) % 97n)).padStart(2, "0");
      return (bare + key).replace(/^(.)(..)(..)(..)(...)(...)(..)$/, "$1 $2 $3 $4 $5 $6 $7");
    },
    { layouts: { ...AS_IT_IS, ...IN_ONE_PIECE } },
  ),
  kind("it-fiscal-code", "Italian fiscal code", (draw) =>
    passing(
      () =>
        [
          draw.text("BCDFGLMNPRSTVZ", 6),
          draw.text(DIGITS, 2),
          draw.one("ABCDEHLMPRST"),
          String(draw.number(1, 31)).padStart(2, "0"),
          draw.one("ABCDEFGHIL"),
          draw.text(DIGITS, 3),
          draw.one(UPPER),
        ].join(""),
      hasFiscalCodeCheck,
    ),
  ),
  kind("pl-pesel", "Polish PESEL", (draw) =>
    passing(() => {
      const [year, month, day] = [draw.number(40, 99), draw.number(1, 12), draw.number(1, 28)];
      return [year, month, day].map((part) => String(part).padStart(2, "0")).join("") + draw.text(DIGITS, 5);
    }, hasPeselCheck),
  ),
  kind("br-cpf", "Brazilian CPF", (draw) =>
    passing(() => draw.text(DIGITS, 11), hasCpfChecks).replace(/^(...)(...)(...)(..)$/, "$1.$2.$3-$4"),
  ),
];
