import { isTextUIPart, isToolUIPart, type UIMessage } from "ai";
import type { Told } from "../client.ts";

/** What a chat of the AI SDK has. */
export interface UiChat {
  readonly messages: readonly UIMessage[];
  readonly error: unknown;
}

/** What its assistant says; the finish is the native word. */
export function toldIn({ messages, error }: UiChat): Told {
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
