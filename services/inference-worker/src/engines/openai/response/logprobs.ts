import { logprobsSize, MAX_LOGPROBS_SIZE, type TokenLogprobs } from "@reprise/protocol";
import * as z from "zod";

/** The limit of a token's text and of its bytes; no known tokenizer has a token half as long. */
const MAX_TOKEN_LENGTH = 1_024;

const likelySchema = z.object({
  token: z.string().max(MAX_TOKEN_LENGTH),
  logprob: z.number(),
  bytes: z.array(z.int().min(0).max(255)).max(MAX_TOKEN_LENGTH).nullish().catch(null),
});
const logprobsSchema = z.object({
  content: z.array(likelySchema.extend({ top_logprobs: z.array(likelySchema).nullish() })).nullable(),
});

/**
 * Returns the log probabilities of a chunk; undefined if it has none, or if they are malformed.
 * @param top the number of most likely tokens that were asked for: some upstreams send more
 */
export function toLogprobs(value: unknown, top: number): TokenLogprobs | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { success, data } = logprobsSchema.safeParse(value);
  if (!success) return undefined;
  return (data.content ?? []).map(({ top_logprobs: others, ...token }) => ({
    ...toLikely(token),
    ...(top > 0 && others && { top: others.slice(0, top).map(toLikely) }),
  }));
}

/** The bytes only where the text does not tell them. */
function toLikely({ token, logprob, bytes }: z.infer<typeof likelySchema>): TokenLogprobs[number] {
  const isText = !bytes || Buffer.from(bytes).equals(Buffer.from(token));
  return { token, logprob, ...(!isText && { bytes }) };
}

/** The log probabilities of a chunk. */
interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly toolCalls: readonly unknown[];
  readonly logprobs: TokenLogprobs | undefined;
}

/**
 * Log probabilities beside the text that they are of. Those of a chunk without any text are of the next one's: an upstream may hold text back.
 * The log probabilities of reasoning, of a refusal or of a tool call's tokens is not kept: it is not of the text.
 */
export class TextLogprobs {
  #waiting: TokenLogprobs = [];

  /**
   * @param onLeftOut called for more than an event may hold: what comes with it is not kept either
   * @returns those of the chunk's text
   */
  take(chunk: Said, onLeftOut?: (part: "logprobs") => void): TokenLogprobs | undefined {
    const { logprobs = [], text, reasoning, refusal, toolCalls } = chunk;
    const isOthers = reasoning !== "" || refusal !== "" || toolCalls.length > 0;
    const all = isOthers ? this.#waiting : [...this.#waiting, ...logprobs];
    this.#waiting = [];
    if (logprobsSize(all) > MAX_LOGPROBS_SIZE) {
      onLeftOut?.("logprobs");
      return undefined;
    }
    if (text === "") this.#waiting = isOthers ? [] : all;
    return text === "" || all.length === 0 ? undefined : all;
  }
}
