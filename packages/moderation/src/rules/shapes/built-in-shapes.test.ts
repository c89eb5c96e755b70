import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { BUILT_IN_RULES } from "@reprise/protocol";
import { describe, expect, test, vi } from "vitest";
import { BUILT_IN_VERSION, builtInShapes, PERSONAL_DATA } from "./built-in-shapes.ts";
import { CARDS } from "./cards.ts";
import { compileRuleSet } from "../rule-set.ts";
import { found } from "../scanning/scanning.fixture.ts";
import { SECRETS } from "./secrets.ts";

test("who brings an automaton to a new state pays for that, though all rule sets share it", async () => {
  vi.resetModules();
  const fresh = await import("../rule-set.ts");
  const [first, second] = ["first", "second"].map((id) => {
    const set = fresh.compileRuleSet(id, ["secrets"]);
    const before = set.steps;
    const findings = [...set.createScanner().push(`token glpat-${letters(20)} and é`)];
    return { findings: findings.length, steps: set.steps - before };
  });
  expect([first!.findings, second!.findings]).toEqual([1, 1]);
  expect(first!.steps).toBeGreaterThan(second!.steps + 20 * 80);
});

const SET = compileRuleSet("built-in", ["cards", "secrets", "personal-data"]);
const letters = (count: number): string => "aB3dE6gH9k".repeat(Math.ceil(count / 10)).slice(0, count);

/** The text, and what of it is found by which rule. */
const FOUND: readonly (readonly [rule: string, text: string, covered: string])[] = [
  ["cards.card", "Visa 4111111111111111.", "4111111111111111"],
  ["cards.card", "5555-5555-5555-4444 12/27", "5555-5555-5555-4444"],
  ["cards.card", "amex:3782 822463 10005;", "3782 822463 10005"],
  ["cards.card", "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2!", "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2"],
  ["cards.card", "old 4222222222222 Visa", "4222222222222"],
  ["cards.card", "2023 4111 1111 1111 1111 2024", "4111 1111 1111 1111"],
  ["cards.card", "４１１１ １１１１ １１１１ １１１１", "４１１１ １１１１ １１１１ １１１１"],
  ["cards.card", "4111\u200b1111\u200d11111111", "4111\u200b1111\u200d11111111"],
  ["cards.card", "٤١١١١١١١١١١١١١١١", "٤١١١١١١١١١١١١١١١"],
  ["secrets.aws-access-key", "id=AKIAIOSFODNN7EXAMPLE&", "AKIAIOSFODNN7EXAMPLE"],
  ["secrets.github-token", `"ghp_${letters(36)}"`, `ghp_${letters(36)}`],
  [
    "secrets.github-token",
    `github_pat_${letters(22)}_${letters(59)}`,
    `github_pat_${letters(22)}_${letters(59)}`,
  ],
  ["secrets.gitlab-token", `glpat-${letters(20)} `, `glpat-${letters(20)}`],
  ["secrets.npm-token", `//x/:_authToken=npm_${letters(36)}`, `npm_${letters(36)}`],
  ["secrets.hugging-face-token", `hf_${letters(34)}`, `hf_${letters(34)}`],
  ["secrets.anthropic-key", `sk-ant-api03-${letters(80)}.`, `sk-ant-api03-${letters(80)}`],
  ["secrets.openai-key", `OPENAI_API_KEY=sk-proj-${letters(48)}`, `sk-proj-${letters(48)}`],
  ["secrets.slack-token", "xoxb-123456789012-abcdef", "xoxb-123456789012-abcdef"],
  [
    "secrets.slack-webhook",
    `https://hooks.slack.com/services/T0000000/B0000000/${letters(24)}`,
    `hooks.slack.com/services/T0000000/B0000000/${letters(24)}`,
  ],
  ["secrets.google-api-key", `key=AIza${letters(35)}`, `AIza${letters(35)}`],
  ["secrets.stripe-key", `sk_live_${letters(24)}`, `sk_live_${letters(24)}`],
  ["secrets.sendgrid-key", `SG.${letters(22)}.${letters(43)}`, `SG.${letters(22)}.${letters(43)}`],
  [
    "secrets.jwt",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP ",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP",
  ],
  ["secrets.bearer-token", `Authorization: Bearer ${letters(30)}==`, `Bearer ${letters(30)}==`],
  [
    "secrets.private-key",
    `x\n-----BEGIN RSA PRIVATE KEY-----\n${letters(64)}\n${letters(9)}=\n-----END RSA PRIVATE KEY-----\ny`,
    `-----BEGIN RSA PRIVATE KEY-----\n${letters(64)}\n${letters(9)}=\n-----END RSA PRIVATE KEY-----`,
  ],
  [
    "secrets.private-key",
    `"-----BEGIN PRIVATE KEY-----\\n${letters(64)}\\n" is it`,
    `-----BEGIN PRIVATE KEY-----\\n${letters(64)}`,
  ],
  ["personal-data.email", "<ada.lovelace+x@mail.example.org>,", "ada.lovelace+x@mail.example.org"],
  ["personal-data.email", "mailto:a@163.com.", "a@163.com"],
  ["personal-data.iban", "DE89 3704 0044 0532 0130 00.", "DE89 3704 0044 0532 0130 00"],
  ["personal-data.iban", "IBAN:GB29NWBK60161331926819 AND MORE", "GB29NWBK60161331926819"],
  ["personal-data.phone-international", "call +44 (0)20 7946 0958!", "+44 (0)20 7946 0958"],
  ["personal-data.phone-international", "tel:+14155552671", "+14155552671"],
  ["personal-data.phone-north-america", "at (415) 555-2671.", "(415) 555-2671"],
  ["personal-data.phone-north-america", "1-800-555-0199", "1-800-555-0199"],
  ["personal-data.phone-national", "au 06 12 34 56 78,", "06 12 34 56 78"],
  ["personal-data.phone-national", "0171 1234567", "0171 1234567"],
  ["personal-data.phone-national", "07700900123", "07700900123"],
  ["personal-data.us-ssn", "SSN 078-05-1120", "078-05-1120"],
  ["personal-data.uk-nino", "AB 12 34 56 C", "AB 12 34 56 C"],
  ["personal-data.de-tax-id", "IdNr. 86 095 742 719", "86 095 742 719"],
  ["personal-data.es-dni", "DNI 12345678Z", "12345678Z"],
  ["personal-data.es-dni", "NIE X1234567L", "X1234567L"],
  ["personal-data.fr-nir", "1 51 02 46 102 043 25", "1 51 02 46 102 043 25"],
  ["personal-data.it-fiscal-code", "RSSMRA85T10A562S", "RSSMRA85T10A562S"],
  ["personal-data.pl-pesel", "PESEL 44051401359", "44051401359"],
  ["personal-data.br-cpf", "CPF 529.982.247-25", "529.982.247-25"],
];

/** A header that no file of the repository has in one piece. */
const begin = (label: string): string => `-----BEGIN ${label}-----`;
const KEY = ["PRIVATE", "KEY"].join(" ");
const PGP = [
  begin(`PGP ${KEY} BLOCK`),
  "Version: GnuPG v2",
  "Comment: made for tests",
  "",
  letters(64),
  `=${letters(4)}`,
];

describe("text beside it hides nothing", () => {
  test.for([
    ["cards.card", "_4111 1111 1111 1111_", "4111 1111 1111 1111"],
    ["cards.card", "№4111111111111111", "4111111111111111"],
    ["cards.card", "4111111111111111¹", "4111111111111111"],
    ["cards.card", "①4111111111111111™", "4111111111111111"],
    ["cards.card", "⁴¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹", "⁴¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹"],
    ["cards.card", String.raw`"\n4111111111111111\n"`, "4111111111111111"],
    ["cards.card", "4111.1111.1111.1111", "4111.1111.1111.1111"],
    ["cards.card", "4111\n1111\n1111\n1111", "4111\n1111\n1111\n1111"],
    ["cards.card", "> 4111 1111\n> 1111 1111", "4111 1111\n> 1111 1111"],
    ["cards.card", "4111  1111  1111  1111", "4111  1111  1111  1111"],
    ["cards.card", "4111  1111 1111 1111", "4111  1111 1111 1111"],
    ["secrets.aws-access-key", "MY_AKIAIOSFODNN7EXAMPLE_1", "AKIAIOSFODNN7EXAMPLE"],
    ["personal-data.iban", "DE89-3704-0044-0532-0130-00", "DE89-3704-0044-0532-0130-00"],
    ["personal-data.email", "_ada@example.org_", "ada@example.org"],
    ["personal-data.phone-north-america", "call me—415-555-2671—now", "415-555-2671"],
    ["personal-data.phone-international", "№+49 30 901820", "+49 30 901820"],
  ] as const)("%s in %j", ([rule, text, covered]) => {
    expect(found(SET, text)).toEqual([`${rule}: ${covered}`]);
  });

  test.for([
    ["with headers of its own", PGP.join("\n")],
    ["quoted", PGP.join("\n> ")],
    ["in strings that are joined", PGP.join(String.raw`\n" +${"\n"}  "`)],
    ["in short lines", [begin(KEY), ...(letters(64).match(/.{1,8}/g) ?? [])].join("\n")],
  ])("a key %s", ([, text]) => {
    expect(found(SET, `Here:\n\n> ${text}\n-----END ${KEY}-----\n\nThat is it.`)).toEqual([
      `secrets.private-key: ${text}\n-----END ${KEY}-----`,
    ]);
  });

  test("a header alone takes no text with it", () => {
    const text = `${begin(KEY)} is how such a file begins.\nThen come lines of base64, each as long\nas the last.\n`;
    expect(found(SET, text)).toEqual([`secrets.private-key: ${begin(KEY)}`]);
  });
});

describe("the built-in sets find", () => {
  test.for(FOUND)("%s in %j", ([rule, text, covered]) => {
    expect(found(SET, text)).toEqual([`${rule}: ${covered}`]);
  });
});

const CLEAN = [
  "4111 1111 1111 1112 fails Luhn's check; 411111111111111 is too short; x4111111111111111y is no number.",
  "41111111111111111111 has twenty digits.",
  "1718000000000 ms, 1718000000000000000 ns, 2026-11-21T09:35:53.123456Z, 20261121093553",
  "550e8400-e29b-41d4-a716-446655440000 and 4a6f75726e6579206265796f6e64206d61676963",
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "version 1.2.3, 10.4.0-beta.1, lodash@4.17.21, typescript@6.0.2-rc.1, 192.168.100.200:8080, ::1",
  "git@github.com:nats-io/nats.js.git, @angular/core, user@localhost, a @ b.com",
  "sk-fading-circle-container-twelve, sk-learn, xox- and hf_model_name, npm_config_registry",
  "Bearer authentication-is-required here; the bearer of_this_letter_and_every_other",
  "The header is -----BEGIN CERTIFICATE-----; eyJhbGciOiJIUzI1NiJ9 alone is none.",
  "for (let i = 0; i < 1000000; i += 250) sum += table[i + 1024] * 0x7fffffff;",
  "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25",
  "100 200 300 4000 5000 60000; 3.14159265358979323846; 6.02214076e23; 299,792,458",
  "000-12-3456, 666-12-3456, 900-12-3456; GB123456A; 12345678A; GB29 NWBK 6016 1331 9268 18",
  "x = a+12345678; y=1+234567890; c++ +5 +10; from 2019-2024, pages 100-200, ISBN 978-3-16-148410-0",
  "01/02/2024 03-04-2025 12:30:45 0800 hours; order 00012345; room 0420",
  "INSERT INTO T1234 VALUES (12345, 'ABCDEF12G'); MAX_INT32, HTTP2, UTF16LE, AB12, EC2",
  "SKU 415-555-2671, AB-415-555-2671, 415-555-2671-B, order no. 0171 1234567, firmware 415.555.2671",
  "Loto: 03 14 25 36 41; 01 02 03 04 05 06 07; 00 06 12 34 56 78 9a; +12 -15 18 20; +1 234 567 89",
  "5013681 651901 4408250 4279 6755570 72105; 3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3 2 3 8 4 6 2 6 4 3; EAN 4006381333931",
  "8974  5346  5997  4925  8263  1329  4654  1808; icon@2x.png; ghp_000000000000000000000000000000000000",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
];

test.for(CLEAN)("the built-in sets find nothing in %j", (text) => {
  expect(found(SET, text)).toEqual([]);
});

test("what the sets judge is recorded with their version, which goes up when they change", () => {
  expect(SET.judgedBy).toEqual({ rule_set: "built-in", built_in: BUILT_IN_VERSION });
  expect(compileRuleSet("terms", [{ terms: ["a"] }]).judgedBy).toEqual({ rule_set: "terms" });
  const sources = [...CARDS, ...SECRETS, ...PERSONAL_DATA];
  const said = sources.map(({ name, maxLength, pattern }) => `${name} ${maxLength} ${pattern}`).join("\n");
  const digest = createHash("sha256").update(said).digest("hex").slice(0, 16);
  // A change of a check alone does not show here: it raises the version as well.
  expect([BUILT_IN_VERSION, digest]).toEqual([2, "720b17f52d21c925"]);
});

test("of a token that is longer than 1,024 characters the first 1,024 are found", () => {
  expect(found(SET, `ghp_${letters(2_000)} x`)).toEqual([`secrets.github-token: ghp_${letters(1_020)}`]);
});

test("the README lists what the built-in sets find, and the list above has an example of each", async () => {
  const readme = await readFile(new URL("../../../README.md", import.meta.url), "utf8");
  const listed = Array.from(
    readme.matchAll(/`((?:cards|secrets|personal-data)\.[a-z-]+)`/g),
    ([, rule]) => rule,
  );
  const shapes = BUILT_IN_RULES.flatMap((set) => builtInShapes(set, "flag"));
  const rules = shapes.map(({ label }) => label.rule);
  expect(new Set(listed)).toEqual(new Set(rules));
  for (const { label, maxLength } of shapes)
    expect(readme).toMatch(
      new RegExp(`^\\| \`${label.rule}\` \\|.*\\| ${maxLength.toLocaleString("en")} \\|$`, "m"),
    );
  expect(new Set(FOUND.map(([rule]) => rule))).toEqual(new Set(rules));
});
