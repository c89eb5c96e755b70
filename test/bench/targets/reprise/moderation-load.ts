import type { ModerationRule } from "@reprise/protocol";
import { madeUpWords, proseToken, wordToken } from "../../measure/prose.ts";

/** Whether moderation's process runs, and what the generations ask of it; `idle`: it runs, and they ask for nothing. */
export type ModerationUse = "off" | "idle" | "observe" | "retract" | "gate";

/** What the tokens say: text as a tokenizer cuts it, whole words, or text in which rules find something. */
export type ModerationText = "pieces" | "words" | "planted";

export interface ModerationLoad {
  readonly use: ModerationUse;
  readonly text: ModerationText;
}

const TERMS = madeUpWords(5_000);

/** Every set that comes with the platform, and a long list of words. */
export const RULES: readonly ModerationRule[] = [
  "cards",
  "secrets",
  "personal-data",
  { terms: TERMS, action: "redact" },
];

/** Every so many tokens of a stream comes a match, in two tokens; 2 s at 50 tokens/s. */
const PLANT_EVERY = 100;
/** Spreads the matches of all streams over time. */
const STREAM_SHIFT = 37;

/** Tokens with what the rules find, a word and a card number in turn. The second half completes the match: it says where it ends. */
function plantedToken(stream: number, index: number): string {
  const place = index + stream * STREAM_SHIFT;
  const half = place % PLANT_EVERY;
  if (half > 1) return proseToken(stream, index);
  const number = Math.floor(place / PLANT_EVERY);
  const word = TERMS[(stream + number) % TERMS.length]!;
  const [first, second] =
    number % 2 === 0 ? [` ${word.slice(0, 4)}`, `${word.slice(4)};`] : [" card 4111 1111", " 1111 1111;"];
  return half === 0 ? first : second;
}

export const TOKEN_OF: Readonly<Record<ModerationText, (stream: number, index: number) => string>> = {
  pieces: proseToken,
  words: wordToken,
  planted: plantedToken,
};

/** How many whole matches are in the first tokens of all streams. */
export function countPlanted(streams: number, tokens: number): number {
  let count = 0;
  for (let stream = 0; stream < streams; stream++) {
    for (let index = 1; index < tokens; index++) {
      if ((index + stream * STREAM_SHIFT) % PLANT_EVERY === 1) count++;
    }
  }
  return count;
}
