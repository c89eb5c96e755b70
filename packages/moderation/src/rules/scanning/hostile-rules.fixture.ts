import type { ModerationRule } from "@reprise/protocol";

/** Rules that are made to cost much, one or more of each kind, with a piece of a text that is made for them. */
export interface HostileRules {
  readonly kind: string;
  readonly rules: readonly ModerationRule[];
  readonly piece: string;
}

const many = (count: number, pattern: (at: number) => string): ModerationRule[] =>
  Array.from({ length: count }, (_, at) => ({ pattern: pattern(at) }));
const words = (count: number, each: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => each(at));

export const HOSTILE_RULES: readonly HostileRules[] = [
  {
    kind: "a counted class after a loop, over lines",
    rules: [{ pattern: "(?s).*[aeiou].{20}§" }],
    piece: "prose of vowels ",
  },
  { kind: "a counted class after a loop", rules: [{ pattern: "[ab]*a[ab]{100}c" }], piece: "aabbabab" },
  {
    kind: "counted classes in a row",
    rules: [{ pattern: "a.{0,40}e.{0,40}i.{0,40}§" }],
    piece: "aei eia iea ",
  },
  {
    kind: "a counted repetition of optional letters",
    rules: [{ pattern: "[ab]?a(?:[ab]?){998}[cd]", max_length: 16 }],
    piece: "ab",
  },
  {
    kind: "nested counted repetitions",
    rules: [{ pattern: "(?:(?:(?:a{10}){10}){10})", max_length: 8 }],
    piece: "a",
  },
  { kind: "nested loops", rules: [{ pattern: "(?:(?:a*)*b*)*(?:a+)+c" }], piece: "aab" },
  {
    kind: "a wide alternation",
    rules: [{ pattern: words(150, (at) => `w${(at * 7_919) % 997}`).join("|") }],
    piece: "w1w12w123 ",
  },
  {
    kind: "a wide alternation after a loop",
    rules: [{ pattern: `.*(?:${words(60, (at) => `[ab]{${at % 9}}x${at}`).join("|")})` }],
    piece: "abxab ",
  },
  { kind: "classes of Unicode", rules: many(100, () => String.raw`\pL\PL\p{Greek}\pN`), piece: "αβ12 " },
  {
    kind: "counted classes of Unicode",
    rules: [{ pattern: String.raw`(?:\pL|\pN){30}\PL{30}§` }],
    piece: "aα1",
  },
  {
    kind: "wide ranges without regard to case",
    rules: many(100, () => String.raw`[A-\x{1E942}][B-\x{1E941}][C-\x{1E940}]`),
    piece: "zZ",
  },
  {
    kind: "many patterns that read to their longest match",
    rules: many(60, (at) => `.*x${at}`),
    piece: "xx1 xx2 ",
  },
  {
    kind: "few patterns with the longest matches",
    rules: Array.from({ length: 8 }, (_, at) => ({ pattern: `.*y${at}`, max_length: 1_024 })),
    piece: "y ",
  },
  { kind: "case folding after a loop", rules: [{ pattern: String.raw`(?i)[kſß]*k.{25}§` }], piece: "kKſß" },
  {
    kind: "assertions at every place",
    rules: [{ pattern: String.raw`(?m)(?:\b\w?\B|^|$|\w\b)*§` }],
    piece: "a b\n",
  },
  {
    kind: "a large set of literals",
    rules: [{ terms: words(6_000, (at) => `t${at * 7_919}`), match: "anywhere" }],
    piece: "t7919 t",
  },
  {
    kind: "literals that all end at one place",
    rules: Array.from({ length: 50 }, (_, by) => ({
      terms: words(50, (at) => "a".repeat(at + by + 1)),
      match: "anywhere" as const,
    })),
    piece: "a",
  },
  {
    kind: "letters of many scripts",
    rules: [{ pattern: "[一-龥]*a.{3}§" }],
    piece: words(400, (at) => String.fromCharCode(0x4e_00 + at * 41)).join(""),
  },
];
