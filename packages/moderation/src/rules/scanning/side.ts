/** The kinds of a place's neighbour that assertions distinguish. */
export const SIDE = { edge: 0, newline: 1, word: 2, other: 3, sign: 4, backslash: 5 } as const;
export type Side = (typeof SIDE)[keyof typeof SIDE];
/** In the order of their numbers. */
export const SIDES = Object.values(SIDE);

/** Returns the side of a symbol towards the place after it, given the side before the symbol. */
export type SideRule = (before: Side, symbol: number) => Side;

/**
 * Mark on a symbol: it was folded from a sign (`\u00b9`, `\u2116`, `\u2460`, `\u2122`), which is next to a number or word but no part of it. Above all code
 * points.
 */
export const SIGN = 0x20_00_00;
const CODE_POINT = SIGN - 1;
/** A dash between two thoughts, which joins no numbers: patterns see a hyphen, their checks what it is. */
export const EM_DASH = SIGN | 0x2d;

const NEWLINE = 0x0a;
export const BACKSLASH = 0x5c;
const UNDERSCORE = 0x5f;

/** A symbol without its mark. */
export function codePointOf(symbol: number): number {
  return symbol & CODE_POINT;
}

/** RE2's: a word is of ASCII letters, digits and `_`. */
export function re2Side(_: Side, symbol: number): Side {
  if (symbol === NEWLINE) return SIDE.newline;
  return isAlphanumeric(symbol) || symbol === UNDERSCORE ? SIDE.word : SIDE.other;
}

/**
 * The side rule of the built-in rules: `_` joins or emphasizes words and is a part of none, signs are words apart, and the letter of an escape
 * (`\n`, `\t`) counts as the escaped character.
 */
export function builtInSide(before: Side, symbol: number): Side {
  if (symbol === NEWLINE) return SIDE.newline;
  if (symbol === BACKSLASH) return SIDE.backslash;
  if (before === SIDE.backslash && isEscape(symbol)) return SIDE.other;
  if (!isAlphanumeric(codePointOf(symbol))) return SIDE.other;
  return symbol >= SIGN ? SIDE.sign : SIDE.word;
}

/** True if a letter after a backslash means white space: n, r or t. */
export function isEscape(symbol: number): boolean {
  return symbol === 0x6e || symbol === 0x72 || symbol === 0x74;
}

/** True if a word begins or ends between two places. */
export function isBoundary(before: Side, after: Side): boolean {
  return wordOf(before) !== wordOf(after);
}

function wordOf(side: Side): Side | undefined {
  return side === SIDE.word || side === SIDE.sign ? side : undefined;
}

function isAlphanumeric(symbol: number): boolean {
  return (
    (symbol >= 0x30 && symbol <= 0x39) ||
    (symbol >= 0x41 && symbol <= 0x5a) ||
    (symbol >= 0x61 && symbol <= 0x7a)
  );
}
