import * as z from "zod";

const likelyToken = z.object({
  /** Absent if readers may not see text that moderation has not judged: only the number is left. */
  token: z.string().optional(),
  logprob: z.number(),
  /** Bytes of a token that is not UTF-8 by itself. */
  bytes: z.array(z.int().min(0).max(255)).optional(),
});
type LikelyToken = z.infer<typeof likelyToken>;

/** Log probabilities of a delta's tokens, in order, and of the most likely tokens at each position. */
export const tokenLogprobsSchema = z.array(likelyToken.extend({ top: z.array(likelyToken).optional() }));
export type TokenLogprobs = z.infer<typeof tokenLogprobsSchema>;

/** One delta holds no more than this of them, by `logprobsSize`: with the longest merged text it stays far below the largest event. */
export const MAX_LOGPROBS_SIZE = 262_144;

/**
 * The most log probabilities that one run of a generation gives, those of other likely tokens counted; later tokens have none. The longest answers then hold a
 * few megabytes of them, which each reader costs again.
 */
export const MAX_LOGPROBS = 50_000;

/** Names, quotes, commas and the longest number. */
const ENTRY_BYTES = 64;
/** A UTF-16 unit that JSON escapes. */
const UNIT_BYTES = 6;
/** Three digits and a comma. */
const BYTE_BYTES = 4;

/** Returns an upper bound of their bytes in an event. Does not encode them, because it is called for every token. */
export function logprobsSize(logprobs: TokenLogprobs | undefined): number {
  if (!logprobs) return 0;
  let size = 0;
  for (const { top, ...token } of logprobs) {
    size += sizeOf(token);
    for (const other of top ?? []) size += sizeOf(other);
  }
  return size;
}

function sizeOf({ token = "", bytes }: LikelyToken): number {
  return ENTRY_BYTES + token.length * UNIT_BYTES + (bytes?.length ?? 0) * BYTE_BYTES;
}
