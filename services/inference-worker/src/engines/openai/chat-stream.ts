import {
  createSseDecoder,
  type FinishReason,
  RepriseError,
  type SseDecoder,
  type SseMessage,
} from "@reprise/protocol";
import type { EngineEvent, FinishEvent } from "../engine.ts";
import { type ChatUsage, parseChatMessage } from "./chat-chunk.ts";
import { quoteUpstream, type Secrets } from "./quote-upstream.ts";

/** Far above any chunk; a server that never ends its message is stopped here. */
const MAX_MESSAGE_LENGTH = 1_048_576;
const DONE = "[DONE]";

export interface ChatStreamOptions {
  readonly signal: AbortSignal;
  /** How many tokens of the upstream's input are the prefix. */
  readonly prefixTokens: number;
  readonly secrets: Secrets;
}

/**
 * The bytes of a chat completion's stream as events.
 *
 * A stream is whole once it has given a finish reason: what comes after that is usage, and a connection that breaks then, or a
 * missing `[DONE]`, takes nothing from the text. One that ends without a finish reason has failed, however cleanly it ended.
 * Where usage is absent, every chunk with text counts as one token.
 *
 * @throws RepriseError `engine_failed`; the signal's reason
 */
export async function* readChatStream(
  body: AsyncIterable<Uint8Array>,
  { signal, prefixTokens, secrets }: ChatStreamOptions,
): AsyncGenerator<EngineEvent, void> {
  const messages = readMessages(body);
  let reason: FinishReason | undefined;
  let usage: ChatUsage | undefined;
  let counted = 0;
  try {
    for await (const { event, data } of messages) {
      if (data.startsWith(DONE)) break;
      const message = event === "error" ? { error: tryJson(data) } : parseChatMessage(data);
      if ("error" in message) throw toStreamError(message.error, secrets);
      const { chunk } = message;
      reason = chunk.finishReason ?? reason;
      usage = chunk.usage ?? usage;
      for (const piece of [
        { type: "reasoning", text: chunk.reasoning } as const,
        { type: "text", text: chunk.text } as const,
      ]) {
        if (piece.text === "") continue;
        counted++;
        yield piece;
        signal.throwIfAborted();
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    if (reason === undefined) throw error;
  }
  signal.throwIfAborted();
  if (reason === undefined)
    throw new RepriseError("engine_failed", "The engine's answer ended without a finish reason.");
  yield toFinish({ reason, usage, counted, prefixTokens });
}

async function* readMessages(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseMessage> {
  const decoder = createSseDecoder({ maxMessageLength: MAX_MESSAGE_LENGTH });
  for await (const bytes of body) yield* decode(decoder, bytes);
}

function decode(decoder: SseDecoder, bytes: Uint8Array): SseMessage[] {
  try {
    return decoder.push(bytes);
  } catch {
    throw new RepriseError(
      "engine_failed",
      `The engine sent a message of more than ${MAX_MESSAGE_LENGTH} characters.`,
    );
  }
}

function toStreamError(error: unknown, secrets: Secrets): RepriseError {
  const quote = quoteUpstream(error, secrets);
  return new RepriseError(
    "engine_failed",
    `The engine failed in mid-stream${quote === undefined ? "." : `: ${quote}`}`,
  );
}

function tryJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

interface Counts {
  reason: FinishReason;
  usage: ChatUsage | undefined;
  counted: number;
  prefixTokens: number;
}

/** An upstream that continues counts the prefix as part of its input; here the prefix is output of an earlier attempt. */
function toFinish({ reason, usage, counted, prefixTokens }: Counts): FinishEvent {
  const { promptTokens = null, completionTokens } = usage ?? {};
  return {
    type: "finish",
    reason,
    usage: {
      input_tokens: promptTokens === null ? null : Math.max(promptTokens - prefixTokens, 0),
      output_tokens: completionTokens ?? counted,
    },
  };
}
