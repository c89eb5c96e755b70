/**
 * The symbol that a character counts as. Two foldings, both by table:
 *
 * - The compatible form, which every built-in rule sees: NFKC without its accents' composition (fullwidth, mathematical, circled and
 *   ligature forms become plain ones), any decimal digit becomes ASCII's, dashes become "-", blanks become " ". Invisible characters
 *   (zero-width joiners, soft hyphens, variation selectors, tags, controls) are skipped, and so are the marks that letters of Latin, Greek,
 *   Cyrillic, Hebrew and Arabic are read without. Marks of other scripts count if they are vowels. Letters and digits that were folded
 *   from signs bear the mark `SIGN`.
 * - The canonical form, which terms see on top of that: no case, no diacritics, letters that look Latin are Latin, any white space is " ".
 */

import { EM_DASH, SIGN } from "./side.ts";

export const SKIPPED = 0xff_ff;
/** The compatible form has several symbols, or some with the mark `SIGN`: `expansions`. */
export const EXPANDED = 0xff_fe;
export const BLANK = 0x20;

const UNITS = 0x1_00_00;
/** Kana's voiced sound marks are inherited, and make other letters of theirs. */
const ACCENTS =
  /[\p{Me}[[\p{Mn}&&[\p{Script=Inherited}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}]]--[\u3099\u309a]]]/gv;
const ACCENT = new RegExp(`^${ACCENTS.source}$`, "v");
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\ufff9-\ufffc[\p{Cc}--\s]]$/v;
/** On letters that take none a mark of another script is no more than an accent. */
const MARK = /^\p{M}$/u;
const LETTERS_WITHOUT_MARKS = 0x7_00;
const DIGIT = /^\p{Nd}$/u;
const DASH = /^[\p{Pd}\u2212]$/u;
/** Braille's empty cell among them. */
const SPACE = /^[\p{Zs}\u2800]$/u;
const WHITE = /^\s$/u;
const QUOTE = /^[\u2018\u2019\u02bc\uff07]$/u;
const PLAIN = /^[\p{L}\p{N}]{2,4}$/u;
/** Numbers and words in the shape of a sign: superscripts, circled digits, the signs of number and trade mark. */
const SIGNS = /^[\p{No}\p{Nl}\p{S}\p{Lm}\u00aa\u00ba]$/u;
const ALPHANUMERIC = /^[0-9A-Za-z]+$/;
/** Scripts that put no blanks between words have no word boundaries to judge. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const IN_WORD = /[\p{L}\p{N}\p{M}]/u;

/** Each letter of the first row looks like the one below it. */
const LOOK_ALIKES: readonly (readonly [string, string])[] = [
  ["авгеһіјкмнопрсѕтухьԁԛԝѵѡӏ", "abrehijkmhonpcstyxbdqwvwl"],
  ["αβεζηικμνορτυχγω", "abeznikmvoptuxyw"],
  // Capitals that look like other letters than their small ones do: a term's Greek letters are looked for in each case.
  ["ΗΝΥ", "hny"],
  ["ς", "σ"],
  ["օսհոգզց", "ouhnqqg"],
  ["ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdeghijklmnoprstuvwyz"],
  ["ıłøđħŧɑɡɩʋƅǀ", "ilodhtagivbl"],
  ["ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏴ", "drtiajewmhygzbrwsvslcpkdb"],
  ["ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "bpdtgkjczfmnlsrvhwxyaeiou"],
];
/** Their compatible forms are letters that they do not look like. */
const FORMS = new Map([
  ["ϲ", "c"],
  ["Ϲ", "C"],
  ["ϳ", "j"],
]);
const TWO_LETTERS: readonly (readonly [string, string])[] = [
  ["ß", "ss"],
  ["ẞ", "SS"],
  ["æ", "ae"],
  ["Æ", "AE"],
  ["œ", "oe"],
  ["Œ", "OE"],
];

interface FoldTables {
  /** UTF-16 unit to its compatible form, `SKIPPED` or `EXPANDED`; surrogates stay what they are. */
  readonly compatible: Uint16Array;
  readonly expansions: ReadonlyMap<number, readonly number[]>;
  /** Compatible form to canonical form. */
  readonly canonical: Uint16Array;
  /** The role of a compatible form in a word, in the bits of `WORD`. */
  readonly word: Uint8Array;
}

let made: FoldTables | undefined;

/** Makes the tables that all rules share, which takes some 100 ms: a process does so before it takes calls. */
export function prepareFolding(): void {
  foldTables();
}

/** Made at the first call, in some 80 ms; 330 kB. */
export function foldTables(): FoldTables {
  made ??= makeTables();
  return made;
}

/** The compatible form of a character beyond the BMP: a symbol, or `SKIPPED`. */
export function foldAstral(codePoint: number): number {
  // Negative circled and squared capitals, which NFKC leaves alone.
  if (codePoint >= 0x1_f1_50 && codePoint <= 0x1_f1_69) return (codePoint - 0x1_f1_50 + 0x41) | SIGN;
  if (codePoint >= 0x1_f1_70 && codePoint <= 0x1_f1_89) return (codePoint - 0x1_f1_70 + 0x41) | SIGN;
  const character = String.fromCodePoint(codePoint);
  if (isSkipped(character)) return SKIPPED;
  const folded = character.normalize("NFKC");
  const mark = SIGNS.test(character) && ALPHANUMERIC.test(folded) ? SIGN : 0;
  if (DIGIT.test(folded)) return digitOf(folded.codePointAt(0) as number) | mark;
  const first = folded.codePointAt(0) ?? codePoint;
  return String.fromCodePoint(first) === folded ? first | mark : codePoint;
}

/** A bit for each thing that a symbol may be to a word. */
export const WORD = { part: 1, mark: 2 } as const;

export function wordBits(symbol: number): number {
  if (symbol < UNITS) return foldTables().word[symbol] as number;
  return wordBitsOf(String.fromCodePoint(symbol));
}

export function isWordSymbol(symbol: number): boolean {
  return (wordBits(symbol) & WORD.part) !== 0;
}

/** True if a mark after this symbol is no part of any letter. */
export function takesNoMarks(symbol: number): boolean {
  return symbol < LETTERS_WITHOUT_MARKS;
}

export function canonicalOf(symbol: number): number {
  return symbol < UNITS ? (foldTables().canonical[symbol] as number) : symbol;
}

function makeTables(): FoldTables {
  const compatible = new Uint16Array(UNITS);
  const canonical = new Uint16Array(UNITS);
  const word = new Uint8Array(UNITS);
  const expansions = new Map<number, number[]>();
  const alike = lookAlikes();
  for (let unit = 0; unit < UNITS; unit++) {
    compatible[unit] = unit;
    canonical[unit] = unit;
    if (unit >= 0xd8_00 && unit <= 0xdf_ff) continue;
    const character = String.fromCharCode(unit);
    word[unit] = wordBitsOf(character);
    canonical[unit] = canonicalForm(character, alike);
    const forms = compatibleForms(character);
    const [first] = forms as [number];
    const plain = forms.length === 1 && first < SIGN;
    compatible[unit] = plain ? first : EXPANDED;
    if (!plain) expansions.set(unit, forms);
  }
  for (const [letter, letters] of TWO_LETTERS) {
    const unit = letter.charCodeAt(0);
    compatible[unit] = EXPANDED;
    expansions.set(unit, [letters.charCodeAt(0), letters.charCodeAt(1)]);
  }
  return { compatible, canonical, word, expansions };
}

function compatibleForms(character: string): number[] {
  const unit = character.charCodeAt(0);
  if (unit >= SKIPPED - 1 || isSkipped(character)) return [SKIPPED];
  if (unit < 0x80) return [unit];
  if (character === "\u2014" || character === "\u2015") return [EM_DASH];
  if (DASH.test(character)) return [0x2d];
  if (SPACE.test(character)) return [BLANK];
  if (QUOTE.test(character)) return [0x27];
  const folded = FORMS.get(character) ?? character.normalize("NFKC");
  const mark = SIGNS.test(character) && ALPHANUMERIC.test(folded) ? SIGN : 0;
  if (DIGIT.test(folded)) return [digitOf(folded.charCodeAt(0)) | mark];
  if (folded.length === 1) return [folded.charCodeAt(0) | mark];
  return PLAIN.test(folded)
    ? Array.from({ length: folded.length }, (_, at) => folded.charCodeAt(at) | mark)
    : [unit];
}

function canonicalForm(character: string, alike: ReadonlyMap<number, number>): number {
  if (WHITE.test(character)) return BLANK;
  const capital = character.normalize("NFKD").replaceAll(ACCENTS, "");
  const bare = capital.toLowerCase().replaceAll(ACCENTS, "");
  const unit = (bare.length === 1 ? bare : character).charCodeAt(0);
  return alike.get(capital.charCodeAt(0)) ?? alike.get(unit) ?? unit;
}

function lookAlikes(): Map<number, number> {
  const map = new Map<number, number>();
  for (const [from, to] of LOOK_ALIKES)
    for (let at = 0; at < from.length; at++) {
      const [small, letter] = [from.charAt(at).toLowerCase().charCodeAt(0), to.charCodeAt(at)];
      map.set(from.charCodeAt(at), letter);
      if (!map.has(small)) map.set(small, letter);
    }
  return map;
}

function wordBitsOf(character: string): number {
  const part = IN_WORD.test(character) && !UNSPACED.test(character) ? WORD.part : 0;
  return MARK.test(character) ? part | WORD.mark : part;
}

function isSkipped(character: string): boolean {
  return INVISIBLE.test(character) || ACCENT.test(character);
}

/** Decimal digits come in runs of ten; 0 is the one that has none before it. */
function digitOf(codePoint: number): number {
  let value = 0;
  while (value < 9 && DIGIT.test(String.fromCodePoint(codePoint - value - 1))) value++;
  return 0x30 + value;
}
