import type { TokenLogprobs } from "@reprise/protocol";

export interface ChatLogprob {
  token: string;
  bytes: number[] | null;
  logprob: number;
}

export interface ChatTokenLogprob extends ChatLogprob {
  top_logprobs: ChatLogprob[];
}

export interface ChatLogprobs {
  content: ChatTokenLogprob[] | null;
  refusal: null;
}

const ENCODER = new TextEncoder();

/** If moderation withholds the tokens, they are empty texts here: only the numbers remain. */
export function toChatLogprobs(logprobs: TokenLogprobs): ChatTokenLogprob[] {
  return logprobs.map(({ top = [], ...token }) => ({
    ...toChatLogprob(token),
    top_logprobs: top.map(toChatLogprob),
  }));
}

function toChatLogprob({ token = "", logprob, bytes }: Omit<TokenLogprobs[number], "top">): ChatLogprob {
  return { token, bytes: bytes ?? [...ENCODER.encode(token)], logprob };
}
