import type { EventDraft, TokenLogprobs } from "@reprise/protocol";

/**
 * A delta with how likely its tokens were. Of a text that moderation may withdraw, or has still to clear, the numbers alone: the most likely
 * tokens are words that the model has not said, which are judged in no channel, and the tokens tell the text once more.
 */
export function withLogprobs(
  draft: EventDraft,
  logprobs: TokenLogprobs | undefined,
  isJudged: boolean,
): EventDraft {
  if (draft.type !== "output.delta" || !logprobs) return draft;
  return { ...draft, logprobs: isJudged ? logprobs.map(({ logprob }) => ({ logprob })) : logprobs };
}
