import {
  createSseDecoder,
  type FinishReason,
  RepriseError,
  type SseDecoder,
  type SseMessage,
} from "@reprise/protocol";
import type { EngineEvent, FinishEvent } from "../engine.ts";
import { type ChatChunk, type ChatUsage, parseChatMessage } from "./chat-chunk.ts";
import { quoteUpstream, type Secrets } from "./quote-upstream.ts";
import { ToolCallAssembly } from "./tool-call-assembly.ts";
import { tryJson } from "./try-json.ts";

/** Far above any chunk; a server that never ends its message is stopped here. */
const MAX_MESSAGE_LENGTH = 1_048_576;
const DONE = "[DONE]";

export interface ChatStreamOptions {
  readonly signal: AbortSignal;
  /** How many tokens of the upstream's input this generation has produced itself. */
  readonly producedTokens: number;
  readonly secrets: Secrets;
  /** Told of every chunk that has pieces of tool calls. */
  readonly onPiece?: (() => void) | undefined;
}

/**
 * The bytes of a chat completion's stream as events.
 *
 * A stream is whole once it has given a finish reason: what comes after that is usage, and a connection that breaks then, or a
 * missing `[DONE]`, takes nothing from the text. One that ends without a finish reason has failed, however cleanly it ended.
 * Where usage is absent, every chunk with text or a piece of a tool call counts as one token.
 *
 * Tool calls come whole, before the finish, whose reason is `tool_calls` then, whatever name the upstream has for it. Those of an
 * answer that was cut at its limit or by a filter are left out: nobody can tell how much of them is missing.
 *
 * @throws RepriseError `engine_failed`; the signal's reason
 */
export async function* readChatStream(
  body: AsyncIterable<Uint8Array>,
  { signal, producedTokens, secrets, onPiece }: ChatStreamOptions,
): AsyncGenerator<EngineEvent, void> {
  const messages = readMessages(body);
  let reason: FinishReason | undefined;
  let usage: ChatUsage | undefined;
  let counted = 0;
  const calls = new ToolCallAssembly();
  try {
    for await (const { event, data } of messages) {
      if (data.startsWith(DONE)) break;
      const message = event === "error" ? { error: tryJson(data) ?? data } : parseChatMessage(data);
      if ("error" in message) throw toStreamError(message.error, secrets);
      const { chunk } = message;
      usage = chunk.usage ?? usage;
      for (const piece of toTextEvents(chunk)) {
        counted++;
        yield piece;
        signal.throwIfAborted();
      }
      for (const piece of chunk.toolCalls) calls.add(piece);
      if (chunk.toolCalls.length > 0) {
        counted++;
        onPiece?.();
      }
      // Last, because what goes wrong in a chunk goes wrong before its finish.
      reason = chunk.finishReason ?? reason;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (reason === undefined) throw error;
  }
  signal.throwIfAborted();
  if (reason === undefined)
    throw new RepriseError("engine_failed", "The engine's answer ended without a finish reason.");
  const whole = reason === "length" || reason === "content_filter" ? [] : calls.finish();
  for (const call of whole) {
    yield call;
    signal.throwIfAborted();
  }
  yield toFinish({ reason: toReason(reason, whole.length), usage, counted, producedTokens });
}

function toTextEvents({ reasoning, text }: ChatChunk): EngineEvent[] {
  return [{ type: "reasoning", text: reasoning } as const, { type: "text", text } as const].filter(
    (event) => event.text !== "",
  );
}

/** Ollama and some versions of llama.cpp end a run that has called tools with `stop`; others say `tool_calls` of a run that has not. */
function toReason(reason: FinishReason, calls: number): FinishReason {
  if (calls > 0) return "tool_calls";
  return reason === "tool_calls" ? "other" : reason;
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

interface Counts {
  reason: FinishReason;
  usage: ChatUsage | undefined;
  counted: number;
  producedTokens: number;
}

/** An upstream that continues counts what was said before as part of its input; here it is output of an earlier attempt or turn. */
function toFinish({ reason, usage, counted, producedTokens }: Counts): FinishEvent {
  const { promptTokens = null, completionTokens } = usage ?? {};
  return {
    type: "finish",
    reason,
    usage: {
      input_tokens: promptTokens === null ? null : Math.max(promptTokens - producedTokens, 0),
      output_tokens: completionTokens ?? counted,
    },
  };
}
