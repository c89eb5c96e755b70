import { isTextUIPart, isToolUIPart, type UIMessage } from "ai";
import type { Told } from "./client.ts";

/** Reads what a chat of the AI SDK holds. Its finish is the platform's word. */
export function toldIn({
  messages,
  error,
}: {
  readonly messages: readonly UIMessage[];
  readonly error: unknown;
}): Told {
  const said = messages.filter(({ role }) => role === "assistant");
  const parts = said.flatMap((message) => message.parts);
  const { finishReason } = (said.at(-1)?.metadata ?? {}) as { finishReason?: string };
  return {
    text: parts
      .filter(isTextUIPart)
      .map(({ text }) => text)
      .join(""),
    reasoning: parts.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
    calls: parts.filter(isToolUIPart).map(({ input }) => input),
    finish: finishReason,
    error,
  };
}
