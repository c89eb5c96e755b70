import type { Usage } from "@reprise/protocol";

/** Tokens as OpenAI's API counts them. What is not known of the input is 0 there. */
export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; audio_tokens: number };
  completion_tokens_details: { reasoning_tokens: number; audio_tokens: number };
}

export function toChatUsage(usage: Usage): ChatUsage {
  const input = usage.input_tokens ?? 0;
  return {
    prompt_tokens: input,
    completion_tokens: usage.output_tokens,
    total_tokens: input + usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: usage.cached_input_tokens ?? 0,
      audio_tokens: usage.audio_input_tokens ?? 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning_tokens ?? 0,
      audio_tokens: usage.audio_output_tokens ?? 0,
    },
  };
}
