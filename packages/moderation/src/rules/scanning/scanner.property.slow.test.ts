import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RuleFinding } from "./finding.ts";
import { compileRuleSet } from "../rule-set.ts";
import { cut, scan } from "./scanning.fixture.ts";

const SET = compileRuleSet("all", [
  "cards",
  "secrets",
  "personal-data",
  { terms: ["foo", "foo bar", "oba", "c++", "secret", "ﬁne", "ab", "abc", "bcd", "über weg", "密码", "🙂x"] },
  { terms: ["ana", "an", "a b"], match: "anywhere", name: "anywhere" },
  { pattern: String.raw`\bx[a-z]+y\b`, max_length: 8 },
  { pattern: "a+b", max_length: 3 },
  { pattern: "(ab|abab)+$" },
  { pattern: String.raw`^ab|\d{2,4}.?` },
  { pattern: "s.*t", max_length: 6 },
]);

/** Pieces that begin, continue, end or nearly form matches of the rules. */
const PIECES = [
  ...Array.from("abcxystfo. -\n+@/_é🙂"),
  ...Array.from("0123456789"),
  "foo bar",
  "fo\u200bo  b\u00e0r",
  "𝔰𝔢𝔠𝔯𝔢𝔱",
  "ﬁne",
  "sеcrеt",
  "密码",
  "banana",
  "4111 1111 1111 1111",
  "4242-4242",
  "５５５５５５５５５５５５４４４４",
  "AKIAIOSFODNN7EXAMPLE",
  "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.",
  "me@example.org",
  "DE89 3704 0044 0532 0130 00",
  "+49 30 901820",
  "(415) 555-2671",
  "078-05-1120",
  "12345678Z",
  "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n",
  "Version: GnuPG v2\n\n",
  String.raw`\n" +`,
  "-----END PRIVATE KEY-----",
  "aB3d\n",
  "4111.1111.",
  "4111\n> 1111  ",
  "DE89-3704-0044-",
  "06 12 34 56 78",
  "SKU ",
  "\\n",
  "№",
  "¹",
  "—",
  "\ud83d",
  "\ude42",
  "e\u0301",
];
const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 24 }).map((pieces) => pieces.join(""));
const places = fc.array(fc.nat(160), { maxLength: 12 });

const FIXED = [
  "Pay foo  bar with 4111 1111 1111 1111, or AKIAIOSFODNN7EXAMPLE; me@example.org",
  "xabcy xabcdefgy aaaab abab s..t st 1234567 \u{1d41f}oo c++ ban\u200dana +49 30 901820 12345678Z",
  "e\u0301 \ud83d\ude42x \ud83d \ude42 密码 uber \t\n weg 078-05-1120 DE89 3704 0044 0532 0130 00.",
];

describe("however a text is split, the findings are the same", () => {
  test.for(FIXED)("at every one place: %j", (text) => {
    const expected = scan(SET, [text]);
    expect(expected.length).toBeGreaterThan(3);
    for (let place = 0; place <= text.length; place++)
      expect(scan(SET, cut(text, [place]))).toEqual(expected);
  });

  test.for(FIXED)("into single units: %j", (text) => {
    expect(scan(SET, text.split(""))).toEqual(scan(SET, [text]));
  });

  test("at random places of random texts", () => {
    fc.assert(
      fc.property(texts, places, (text, at) => {
        expect(scan(SET, cut(text, at))).toEqual(scan(SET, [text]));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("what is not pending", () => {
  test("is never a part of a later finding", () => {
    fc.assert(
      fc.property(texts, places, (text, at) => {
        const scanner = SET.createScanner();
        let settled = 0;
        for (const piece of [...cut(text, at).flatMap((part) => part.split("")), undefined]) {
          const found = piece === undefined ? scanner.end() : scanner.push(piece);
          for (const { from } of found) expect(from).toBeGreaterThanOrEqual(settled);
          expect(scanner.length - scanner.pending).toBeGreaterThanOrEqual(settled);
          settled = scanner.length - scanner.pending;
        }
        expect(scanner.pending).toBe(0);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("what is pending and settled", () => {
  const keys = (findings: readonly Pick<RuleFinding, "rule" | "from" | "to">[]) =>
    new Set(findings.map(({ rule, from, to }) => `${rule} ${from} ${to}`));

  test("is judged as if the text ended there, and with what follows as if it had not been asked", () => {
    fc.assert(
      fc.property(texts, places, (text, at) => {
        const [scanner, undisturbed] = [SET.createScanner(), SET.createScanner()];
        const settled: RuleFinding[] = [];
        const others: RuleFinding[] = [];
        const plain: RuleFinding[] = [];
        for (const piece of cut(text, at)) {
          others.push(...scanner.push(piece));
          plain.push(...undisturbed.push(piece));
          settled.push(...scanner.settle());
          const all = keys([...settled, ...others]);
          expect(all).toEqual(all.union(keys(scan(SET, [text.slice(0, scanner.length)]))));
          expect(scanner.pending).toBe(undisturbed.pending);
        }
        others.push(...scanner.end());
        plain.push(...undisturbed.end());
        // What follows brings to light what it would have brought without, and nothing is said twice.
        expect(keys([...settled, ...others])).toEqual(keys([...settled, ...plain]));
        expect(keys(settled).isDisjointFrom(keys(others))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test("is a match where it is one already, and none where half of it is missing", () => {
    const scanner = compileRuleSet("cards", ["cards"]).createScanner();
    expect(scanner.push("is 4111 1111 1111 1111")).toEqual([]);
    expect(scanner.settle()).toMatchObject([{ rule: "cards.card", from: 3, to: 22 }]);
    expect(scanner.push(" and 4111 1111")).toEqual([]);
    expect(scanner.settle()).toEqual([]);
    expect(scanner.push(" 1111 1111,")).toMatchObject([{ rule: "cards.card", from: 27, to: 46 }]);
    expect(scanner.end()).toEqual([]);
  });
});
