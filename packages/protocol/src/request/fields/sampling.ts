import * as z from "zod";
import { LIMITS } from "./limits.ts";

const penalty = z.number().min(-LIMITS.penalty).max(LIMITS.penalty).optional();

/** A token's id, as the model's tokenizer has it. */
const TOKEN_ID = /^(0|[1-9][0-9]{0,8})$/;

/** Parameters by which the next token is chosen. */
export const samplingFields = {
  temperature: z.number().min(0).max(LIMITS.temperature).optional(),
  /** Only tokens that together have this much of the probability, above 0. */
  top_p: z.number().gt(0).max(1).optional(),
  /** Number of the most probable tokens to choose from. */
  top_k: z.int().min(1).max(LIMITS.topK).optional(),
  /** Only tokens with at least this share of the most probable one's probability. */
  min_p: z.number().min(0).max(1).optional(),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  /** 1 changes nothing. */
  repetition_penalty: z.number().gt(0).max(LIMITS.repetitionPenalty).optional(),
  /** Values added to the logits of tokens, by their ids. */
  logit_bias: z
    .record(
      z.string().regex(TOKEN_ID, { error: "must be a token's id" }),
      z.number().min(-LIMITS.logitBias).max(LIMITS.logitBias),
    )
    .refine((bias) => Object.keys(bias).length <= LIMITS.logitBiasTokens, {
      error: `must have at most ${LIMITS.logitBiasTokens} tokens`,
    })
    .optional(),
  /** Log probabilities of the tokens, and of this number of others at each position. */
  logprobs: z.int().min(0).max(LIMITS.logprobs).optional(),
};
