import { type SimOptions, textsOf, type TokenLogprobs } from "@reprise/protocol";
import type { EngineRequest } from "../engine.ts";

/** Tokens by their index: an array, or made up on demand. */
export interface TokenSource {
  readonly count: number;
  tokenAt(index: number): string;
}

const DEFAULT_TOKENS = 64;
const DEFAULT_SEED = 1;
const SENTENCE_TOKENS = 12;
const PARAGRAPH_SENTENCES = 5;

/** No split inside a word makes a token longer than this many characters, so that text without blanks flows too. */
const MAX_WORD = 12;
const WORD_LIKE = new RegExp(`\\s*\\S{1,${MAX_WORD}}|\\s+`, "gu");
const BLANK = /\s/;
/** Characters of an input that are counted. */
const MAX_COUNTED = 64 * 1_024;
const FIRST_NON_ASCII = 0x80;
/** Surrogates: UTF-16 has two of them for a character beyond U+FFFF. */
const FIRST_FIRST_HALF = 0xd800;
const FIRST_SECOND_HALF = 0xdc00;
const HALVES = 0xfc00;

/** Bytes are what tests compare, so UTF-8 sequences of two, three and four bytes, and of several code points, are among them. */
const WORDS = (
  "the a one this that each some every river garden letter window morning harbour engine paper signal story mountain winter " +
  "bridge copper silence market lantern orchard compass village thunder feather copy ocean shadow number table stone summer " +
  "runs holds turns keeps finds opens writes follows carries answers waits begins returns crosses counts remembers gathers " +
  "slowly often never quite almost again together before behind beyond under without between toward across along until while " +
  "quiet bright narrow distant careful small early certain patient hollow golden simple steady and or but because when where " +
  "café naïve résumé crème façade über jalapeño Ångström Zürich smörgåsbord œuvre 日本 東京 言葉 мир 한글 🙂 🌊 🚀 👩‍💻 …"
).split(" ");

/** Returns the tokens that the options describe. */
export function toTokenSource(
  { text, chunks, tokens, seed }: SimOptions,
  requestSeed: number | undefined,
): TokenSource {
  const given = chunks ?? (text === undefined ? undefined : splitText(text));
  // An index is less than `count`.
  if (given) return { count: given.length, tokenAt: (index) => given[index]! };
  const effectiveSeed = seed ?? requestSeed ?? DEFAULT_SEED;
  return { count: tokens ?? DEFAULT_TOKENS, tokenAt: (index) => tokenAt(effectiveSeed, index) };
}

/** The made-up token at an index: a function of seed and index alone, so that any part of a run can be made by itself. */
function tokenAt(seed: number, index: number): string {
  // The remainder is an index of WORDS.
  const word = WORDS[mix(seed, index) % WORDS.length]!;
  if (index === 0) return capitalise(word);
  if (!endsSentence(seed, index - 1)) return ` ${word}${endsSentence(seed, index) ? "." : ""}`;
  const gap = mix(~seed, index) % PARAGRAPH_SENTENCES === 0 ? "\n\n" : " ";
  return `${gap}${capitalise(word)}${endsSentence(seed, index) ? "." : ""}`;
}

/** Returns log probabilities in which each rank has half the chance of the one before: a function of the token and its index, as the tokens are. */
export function toSimLogprobs(text: string, index: number, top: number): TokenLogprobs {
  const likely = (rank: number) => ({
    token: rank === 0 ? text : tokenAt(rank, index),
    logprob: -(rank + 1) * Math.LN2,
  });
  return [{ ...likely(0), ...(top > 0 && { top: Array.from({ length: top }, (_, i) => likely(i)) }) }];
}

/** Cuts a text into word-like tokens, blanks before the word. Joined they are the text again, for any text. */
export function splitText(text: string): string[] {
  return text.match(WORD_LIKE) ?? [];
}

/**
 * Estimates the number of word-like tokens in a request's input. Extrapolates a longer text from its beginning: to count all of 1 MB takes the worker's
 * event loop 5 to 10 ms, which a model server would spend in a process of its own.
 */
export function countInputTokens({ input }: EngineRequest): number {
  if (typeof input === "string") return estimateTokens(input);
  return input.reduce((sum, message) => sum + countMessage(message), 0);
}

function countMessage(message: Exclude<EngineRequest["input"], string>[number]): number {
  return textsOf(message).reduce((sum, text) => sum + estimateTokens(text), 0);
}

function estimateTokens(text: string): number {
  if (text.length <= MAX_COUNTED) return countTokens(text);
  return Math.round((countTokens(text.slice(0, MAX_COUNTED)) / MAX_COUNTED) * text.length);
}

/** Counts the tokens that `splitText` would return, without making them: for an input of 1 MB those would be 80,000 strings. */
export function countTokens(text: string): number {
  let tokens = 0;
  let room = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (isBlank(unit)) room = 0;
    else if (unit < FIRST_SECOND_HALF || !isSecondHalf(text, at)) {
      if (room === 0) {
        tokens++;
        room = MAX_WORD;
      }
      room--;
    }
  }
  return text !== "" && isBlank(text.charCodeAt(text.length - 1)) ? tokens + 1 : tokens;
}

function isBlank(unit: number): boolean {
  if (unit < FIRST_NON_ASCII) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  return BLANK.test(String.fromCharCode(unit));
}

/** True for the second half of a surrogate pair. */
function isSecondHalf(text: string, at: number): boolean {
  return (
    (text.charCodeAt(at) & HALVES) === FIRST_SECOND_HALF &&
    (text.charCodeAt(at - 1) & HALVES) === FIRST_FIRST_HALF
  );
}

function endsSentence(seed: number, index: number): boolean {
  return mix(seed ^ 0x5e47e4ce, index) % SENTENCE_TOKENS === 0;
}

function capitalise(word: string): string {
  const [first = ""] = word;
  return first.toUpperCase() + word.slice(first.length);
}

/** A well-spread 32-bit number from two: MurmurHash3's final mixing, applied to each. */
function mix(seed: number, index: number): number {
  return finalise(finalise(seed | 0) ^ index);
}

function finalise(bits: number): number {
  let h = bits;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
