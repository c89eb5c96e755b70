import type { ModerationRule } from "@reprise/protocol";
import { madeUpWords, proseToken, wordToken } from "../../measure/prose.ts";

/** Mode of the generations; `off`: no moderation process, `idle`: it runs, and no generation asks for it. */
export type ModerationUse = "off" | "idle" | "observe" | "retract" | "gate";

/** Tokens: text as a tokenizer cuts it, or whole words. */
export type ModerationText = "pieces" | "words";

export interface ModerationLoad {
  readonly use: ModerationUse;
  readonly text: ModerationText;
}

/** Every built-in set, and a long list of words. */
export const RULES: readonly ModerationRule[] = [
  "cards",
  "secrets",
  "personal-data",
  { terms: madeUpWords(5_000), action: "redact" },
];

export const TOKEN_OF: Readonly<Record<ModerationText, (stream: number, index: number) => string>> = {
  pieces: proseToken,
  words: wordToken,
};
