import * as z from "zod";
import { RepriseError } from "../errors/reprise-error.ts";
import { LIMITS } from "../request/fields/limits.ts";
import type { GenerationRequest } from "../request/request.ts";
import { BLOB_KINDS } from "../event/shapes/output.ts";
import { createOptionsParser } from "./parse-options.ts";

const MAX_TOKENS_PER_SECOND = 1_000_000;
const MAX_FIRST_TOKEN_MS = 600_000;
const MAX_TOOL_CALLS = 32;
const MAX_SAID = 256;

const tokenCount = z.int().min(0).max(LIMITS.outputTokens);

const saidText = z.string().min(1);
const saidSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.enum(["reasoning", "refusal", "summary"]), text: saidText }),
  z.strictObject({ type: z.literal("sealed"), encrypted: saidText }),
  z.strictObject({
    type: z.literal("annotation"),
    url: saidText,
    title: saidText.optional(),
    from: tokenCount.optional(),
    to: tokenCount.optional(),
  }),
  z.strictObject({
    type: z.literal("blob"),
    kind: z.enum(BLOB_KINDS),
    media_type: saidText,
    /** Base64. */
    data: z.base64().min(1),
  }),
]);

const simOptionsSchema = z
  .strictObject({
    /** Number of tokens to make up. Default 64. */
    tokens: tokenCount.optional(),
    /** 0 is as fast as it can. */
    tokens_per_second: z.number().min(0).max(MAX_TOKENS_PER_SECOND).default(50),
    first_token_ms: z.number().min(0).max(MAX_FIRST_TOKEN_MS).default(0),
    /** Default: the request's `seed`, else 1. */
    seed: z.int().min(0).max(LIMITS.seed).optional(),
    /** Stream this text, cut into tokens, instead of made-up ones. */
    text: z.string().min(1).optional(),
    /** Stream exactly these, one token each. */
    chunks: z.array(z.string().min(1)).max(LIMITS.outputTokens).optional(),
    /** Fail in place of the token with this index, or of the end. Continued runs too: the index counts from the very first token. */
    fail_after_tokens: tokenCount.optional(),
    /** Say nothing more from the token with this index on. */
    stall_after_tokens: tokenCount.optional(),
    /** Calls tools in place of the token with this index, and continues with that token when they have answered. */
    tool_call_after_tokens: tokenCount.optional(),
    /** Number of calls to make then. */
    tool_calls: z.int().min(1).max(MAX_TOOL_CALLS).optional(),
    /** Input tokens that it reports as cached; never more than the input has. */
    cached_input_tokens: tokenCount.optional(),
    /** Tokens of reasoning that it reports at the end of each run as produced and not shown. */
    reasoning_tokens: tokenCount.optional(),
    /** Say these, one each, before the first token: what a model may say beside its text. */
    says: z.array(saidSchema).min(1).max(MAX_SAID).optional(),
    /**
     * Answer to streamed input. `echo` repeats the text, `upper` in capitals; `reply` answers each commit with `tokens`, made up of the message;
     * `caption` makes up a word for each 100 ms of sound. Default: `echo` for text, `caption` for sound.
     */
    answer: z.enum(["echo", "upper", "reply", "caption"]).optional(),
    /** Captions are items of a few words, guessed one by one and then revised. */
    revise: z.literal(true).optional(),
    continuable: z.boolean().default(true),
  })
  .refine(({ tokens, text }) => tokens === undefined || text === undefined, {
    path: ["text"],
    error: "can't go with tokens",
  })
  .refine(({ chunks, tokens, text }) => chunks === undefined || (tokens ?? text) === undefined, {
    path: ["chunks"],
    error: "can't go with tokens or text",
  })
  .refine(({ tool_calls, tool_call_after_tokens: at }) => tool_calls === undefined || at !== undefined, {
    path: ["tool_calls"],
    error: "needs tool_call_after_tokens",
  });

export type SimOptions = z.infer<typeof simOptionsSchema>;

const parseOptions = createOptionsParser(simOptionsSchema);

/**
 * @param request what the request says itself: an option never overrides it
 * @throws RepriseError `invalid_request`
 */
export function parseSimOptions({ options, seed }: Pick<GenerationRequest, "options" | "seed">): SimOptions {
  const parsed = parseOptions(options);
  if (seed !== undefined && parsed.seed !== undefined) {
    const message = "options.seed: is set by the request's own field";
    throw new RepriseError("invalid_request", message, { param: "options.seed" });
  }
  return parsed;
}
