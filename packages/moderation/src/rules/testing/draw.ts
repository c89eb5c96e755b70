export const DIGITS = "0123456789";
export const LOWER = "abcdefghijklmnopqrstuvwxyz";
export const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LETTERS = UPPER + LOWER;
export const ALPHANUMERIC = LETTERS + DIGITS;
export const BASE64 = `${ALPHANUMERIC}+/`;
export const BASE64URL = `${ALPHANUMERIC}-_`;
export const HEX = "0123456789abcdef";

/** Draws for a text of the corpus: the same seed draws the same, everywhere and always. */
export interface Draw {
  /** From `least` to `most`, both included. */
  number(least: number, most: number): number;
  /** One of a list, or one character of a string. */
  one<T>(list: ArrayLike<T>): T;
  /** Returns `length` characters of an alphabet. */
  text(alphabet: string, length: number): string;
  /** Returns this many new items. */
  many<T>(count: number, make: () => T): T[];
}

export function createDraw(seed: number): Draw {
  const random = mulberry32(seed);
  const number = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
  const one = <T>(list: ArrayLike<T>): T => list[number(0, list.length - 1)] as T;
  const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  return { number, one, many, text: (alphabet, length) => many(length, () => one(alphabet)).join("") };
}

/** The seed of a text: its name's hash (FNV-1a), so that what is added changes nothing that was there. */
export function seedOf(name: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) as number), 0x01_00_01_93);
  return hash;
}

/** Numbers from 0 to 1 that look random and follow from the seed. */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
