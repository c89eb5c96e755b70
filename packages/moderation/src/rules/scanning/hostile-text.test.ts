import { MODERATION_LIMITS, type ModerationRule } from "@reprise/protocol";
import { describe, expect, test, vi } from "vitest";
import { compileRuleSet } from "../rule-set.ts";
import { LazyDfa } from "./lazy-dfa.ts";
import { Nfa } from "./nfa.ts";
import { found, scan } from "./scanning.fixture.ts";

const terms = (...list: string[]): ModerationRule[] => [{ terms: list, name: "t" }];

describe("a term is found", () => {
  test.for([
    ["in another case", "secret word", "SeCrEt WoRd"],
    ["with zero-width characters inside", "secret", "s\u200be\u200cc\u200dr\u2060e\ufefft"],
    ["with soft hyphens and variation selectors inside", "secret", "s\u00ade\ufe0fcr\u{e0101}et"],
    ["with controls and annotation marks inside", "secret", "s\u0000e\u0007c\u007fr\u009fe\ufff9t"],
    ["with marks of other scripts", "secret", "s\u0488e\u05b0c\u0e47r\u093ce\u064bt"],
    ["in Greek, in capitals", "νέος ύμνος", "ΝΈΟΣ ΎΜΝΟΣ"],
    ["in Greek, with capitals where words begin", "νέος ύμνος", "Νέος Ύμνος"],
    ["in Hindi, with its vowel signs", "किताब", "किताब"],
    ["in Arabic, with vowels that are mostly left out", "كتاب", "كِتَاب"],
    ["over Braille's empty cells", "secret word", "secret\u2800\u2800word"],
    ["in fullwidth letters", "secret", "ｓｅｃｒｅｔ"],
    ["in mathematical letters", "secret", "𝓼𝓮𝓬𝓻𝓮𝓽"],
    ["in circled and squared letters", "secret", "ⓢⓔⓒ🅡🅔🅣"],
    ["with Cyrillic look-alikes", "secret", "ѕесrеt"],
    ["with Greek look-alikes", "opioid", "οpιοιd"],
    ["with Cyrillic letters that look alike in print", "porn club", "рогп сӏub"],
    ["with Greek capitals, which look like others than small letters", "any hue you", "aΝΥ Ηue Υοu"],
    ["with Greek letters that compatible forms tell apart", "cab job", "ϲab ϳοb"],
    ["in Cherokee and Lisu capitals", "secret place", "ᏚᎬᏟᎡꓰꓔ ꓑꓡᎪᏟᎬ"],
    ["with small capitals", "secret", "ꜱᴇᴄʀᴇᴛ"],
    ["with accents", "secret", "sécrèt"],
    ["with combining accents", "secret", "s\u0337e\u0301cret"],
    ["with a ligature", "office", "oﬃce"],
    ["over any run of white space", "secret word", "secret \u00a0\t\n word"],
    ["with a sharp s", "strasse", "Straße"],
    ["in Han, without blanks", "密码", "密码"],
  ] as const)("%s", ([, term, text]) => {
    const set = compileRuleSet("terms", terms(term));
    expect(found(set, `(${text})`)).toEqual([`t: ${text}`]);
    expect(scan(set, ["的".repeat(term === "密码" ? 1 : 0), ...text.split("")])).toHaveLength(1);
  });

  test("after 10,000 zero-width joiners between two of its letters", () => {
    const joiners = "\u200d".repeat(10_000);
    expect(scan(compileRuleSet("terms", terms("secret")), ["sec", joiners, "ret "])).toMatchObject([
      { from: 0, to: 10_006 },
    ]);
  });
});

test("a mark of another script makes no longer word of a term, and a vowel sign makes another word", () => {
  const set = compileRuleSet("terms", terms("secret", "कल"));
  expect(found(set, "secret\u093c secret\u05b0 secret\u0e47")).toEqual([
    "t: secret",
    "t: secret",
    "t: secret",
  ]);
  expect(found(set, "कला, कल")).toEqual(["t: कल"]);
});

test.for([
  ["a mark of another script after a letter", "se\u093cc\u0e47ret", ["secret"]],
  ["a mark after a blank", "se \u093ccret", ["se cret"]],
  ["marks after a letter that takes them, which count", "क\u093cला", []],
] as const)("a term with %s finds itself", ([, term, others]) => {
  const set = compileRuleSet("terms", terms(term));
  const texts = [term, ...others];
  expect(texts.flatMap((text) => found(set, text))).toEqual(texts.map((text) => `t: ${text}`));
});

test("a card with controls, marks or zero-width characters between its digits is one", () => {
  const set = compileRuleSet("cards", ["cards"]);
  const hidden = "4\u00011\u048811\u200b1111\u05b01111111\u00071";
  expect(scan(set, hidden.split(""))).toMatchObject([{ from: 0, to: hidden.length }]);
});

test("a pattern sees controls as they are", () => {
  const set = compileRuleSet("patterns", ["cards", { pattern: "a\\x00b" }]);
  expect(scan(set, ["a\u0000b"])).toHaveLength(1);
});

test("a term is not found inside a longer word, unless it may be anywhere", () => {
  expect(found(compileRuleSet("terms", terms("cat", "c++")), "concatenate cats 1cat cat's xc++ C++")).toEqual(
    ["t: cat", "t: C++"],
  );
  const anywhere = compileRuleSet("terms", [{ terms: ["cat"], match: "anywhere", action: "halt" }]);
  expect(found(anywhere, "concatenate")).toEqual(["terms-0: cat"]);
});

test("a term that may continue is pending until it can't", () => {
  const scanner = compileRuleSet("terms", terms("foo", "foo bar")).createScanner();
  const pendingAfter = (piece: string): [number, number] => [scanner.push(piece).length, scanner.pending];
  expect(["x fo", "o", " ", "ba", "z", " foo"].map(pendingAfter)).toEqual([
    [0, 2],
    [0, 3],
    [1, 4],
    [0, 6],
    [0, 0],
    [0, 3],
  ]);
  expect([scanner.end().length, scanner.pending]).toEqual([1, 0]);
});

test.for(["_cat_", "cat_food", "cat²", "№cat", "cat™", String.raw`"\ncat\n"`, "ⓐcat"])(
  "text beside a term does not hide it: %s",
  (text) => {
    expect(found(compileRuleSet("terms", terms("cat")), text)).toEqual(["t: cat"]);
  },
);

test("what follows a key's header holds no more than a key may have", () => {
  const header = ["-----BEGIN PRIVATE", "KEY-----"].join(" ");
  for (const piece of ["/", "> ", "A\n", "\\n", "Comment: ", "aaaaaaaa 1 | "]) {
    const scanner = compileRuleSet("secrets", ["secrets"]).createScanner();
    const held = Array.from({ length: 100 }, () => {
      scanner.push(header + piece.repeat(400));
      return scanner.pending;
    });
    expect(Math.max(...held)).toBeLessThanOrEqual(16_385);
  }
});

test("a digit run of 10,000 is no card and holds no more than a card does", () => {
  const scanner = compileRuleSet("cards", ["cards"]).createScanner();
  const held = Array.from({ length: 2_500 }, () => {
    expect(scanner.push("4111")).toEqual([]);
    return scanner.pending;
  });
  expect(Math.max(...held)).toBeLessThanOrEqual(38);
  expect(held.at(-1)).toBe(0);
  expect(scanner.end()).toEqual([]);
});

describe("2,000 characters made to stall a pattern", () => {
  test.for([
    [String.raw`^(\w+\s?)*$`, "aaaa aaaa "],
    ["(a+)+b", "a"],
    ["(a|aa)+c", "a"],
    [".*.*.*x", "a"],
    [String.raw`([ab]*a[ab]{10}c)`, "aabbab"],
    ["(?:a?){20}a{20}b", "a"],
  ] as const)("take %s steps in proportion to their number, and no new states", ([pattern, piece]) => {
    const scanner = compileRuleSet("patterns", [{ pattern }]).createScanner();
    const text = piece.repeat(Math.ceil(1_000 / piece.length));
    scanner.push(text);
    using steps = vi.spyOn(LazyDfa.prototype, "step");
    using closures = vi.spyOn(Nfa.prototype, "closure");
    scanner.push(text);
    // For each character as many as a match may have; and may one begin here, or do the next two rule it out?
    const most = MODERATION_LIMITS.defaultMatchLength + 3;
    expect(steps.mock.calls.length).toBeLessThanOrEqual(most * text.length);
    expect(closures).not.toHaveBeenCalled();
    expect(scanner.pending).toBeLessThanOrEqual(MODERATION_LIMITS.defaultMatchLength);
  });
});

test("a pattern whose automaton grows without end is forgotten and made again, and finds the same", () => {
  const set = compileRuleSet("wide", [{ pattern: "a[ab]{14}c", max_length: 16 }]);
  const bits = Array.from({ length: 4_000 }, (_, at) => ((at * at * 2_654_435_761) % 97) % 2);
  const text = `${bits.map((bit) => (bit === 1 ? "a" : "b")).join("")} aaaaaaaaaaaaaaac`;
  expect(scan(set, text.match(/.{1,7}/g) ?? [])).toMatchObject([{ text: "aaaaaaaaaaaaaaac" }]);
});

test("letters beyond the dense table's width are found as well", () => {
  const letter = (at: number): string => String.fromCharCode(0x4e_00 + (at % 20_000));
  const list = Array.from({ length: 4_000 }, (_, at) =>
    Array.from({ length: 5 }, (__, by) => letter(at * 7 + by * 331)).join(""),
  );
  const set = compileRuleSet("han", terms(...list));
  expect(found(set, `${list[0]} ${list[1_999]}, ${list[3_999]}`)).toEqual(
    [list[0], list[1_999], list[3_999]].map((term) => `t: ${term}`),
  );
});
