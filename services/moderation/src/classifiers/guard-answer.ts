import * as z from "zod";
import type { Judgement } from "./classifier.ts";

/** The category of what is unsafe in any way; its score is the whole judgement's. */
const UNSAFE = "unsafe";

const CATEGORY = /^[A-Za-z0-9._-]{1,64}$/;
const MAX_CATEGORIES = 64;

const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
const firstTokensSchema = z.object({
  content: z.array(tokenSchema.extend({ top_logprobs: z.array(tokenSchema).catch([]) })),
});
const completionSchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string() }),
        logprobs: firstTokensSchema.nullish().catch(undefined),
      }),
    )
    .min(1),
});

type Tokens = z.infer<typeof firstTokensSchema>["content"];

/**
 * Reads a guard model's chat completion: `safe`, or `unsafe` and a line of categories such as `S1,S3`, with line breaks before it as
 * models like them. Where the probabilities of its tokens are there the score is that of `unsafe` against all else, for every category
 * that it names; else it is 1 or 0. Anything else is `invalid`, which is what a guard that was talked out of its task looks like.
 */
export function readGuardAnswer(value: unknown): Judgement {
  const { data } = completionSchema.safeParse(value);
  if (data === undefined) return { kind: "unjudged", reason: "invalid", detail: "not a chat completion" };
  // The schema wants at least one choice.
  const { message, logprobs } = data.choices[0]!;
  const [firstLine = "", secondLine = ""] = message.content.trim().split(/\s*\n\s*/);
  const word = firstLine.toLowerCase();
  if (word !== "safe" && word !== UNSAFE)
    return { kind: "unjudged", reason: "invalid", detail: "neither safe nor unsafe" };
  const score = (logprobs && probabilityOfUnsafe(logprobs.content)) ?? Number(word === UNSAFE);
  const named = word === UNSAFE ? readCategories(secondLine) : [];
  return {
    kind: "judged",
    flagged: word === UNSAFE ? [...named, UNSAFE] : [],
    scores: Object.fromEntries([...named, UNSAFE].map((category) => [category, score])),
  };
}

function readCategories(line: string): string[] {
  const names = line.split(",").map((name) => name.trim());
  return names.filter((name) => CATEGORY.test(name)).slice(0, MAX_CATEGORIES);
}

/** Returns the probability that the first token other than white space begins `unsafe`, in any split into tokens. */
function probabilityOfUnsafe(tokens: Tokens): number | undefined {
  const first = tokens.find(({ token }) => token.trim() !== "");
  if (first === undefined) return undefined;
  const candidates = new Map([first, ...first.top_logprobs].map(({ token, logprob }) => [token, logprob]));
  const sum = [...candidates]
    .filter(([token]) => token.trim() !== "" && UNSAFE.startsWith(token.trim().toLowerCase()))
    .reduce((total, [, logprob]) => total + Math.exp(logprob), 0);
  return Math.min(sum, 1);
}
