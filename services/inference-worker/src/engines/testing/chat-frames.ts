/* Frames of a chat completion's stream, as servers write them. */

export const DONE = "data: [DONE]\n\n";

export function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function delta(fields: object, finishReason: string | null = null): string {
  return frame({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_795_000_000,
    model: "m",
    choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finishReason }],
    usage: null,
  });
}

export const ROLE = delta({ role: "assistant", content: "" });

export function content(text: string): string {
  return delta({ content: text });
}

/** Pieces of tool calls in one chunk. */
export function toolCalls(...pieces: object[]): string {
  return delta({ tool_calls: pieces });
}

export function finish(reason = "stop"): string {
  return delta({}, reason);
}

export function usage(promptTokens: number, completionTokens: number): string {
  const total = promptTokens + completionTokens;
  return frame({
    choices: [],
    usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total },
  });
}
