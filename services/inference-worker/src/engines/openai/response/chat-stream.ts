import { createSseDecoder, type FinishReason, type SseDecoder, type SseMessage } from "@reprise/protocol";
import type { AnswerNames, EngineEvent, MediaPieceEvent } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import { type ChatUsage, type UnsupportedPart, parseChatMessage, type WantedParts } from "./chat-chunk.ts";
import type { UpstreamEnd } from "./finish-reason.ts";
import { TextLogprobs } from "./logprobs.ts";
import { SourceList } from "./source-list.ts";
import { toStreamError } from "../errors/stream-error.ts";
import { TokenCount } from "./token-count.ts";
import { ToolCallAssembly } from "./tool-call-assembly.ts";
import { tryJson } from "./try-json.ts";
import { createUsageWait } from "./usage-wait.ts";

/** Far above any chunk; a server that never ends its message is stopped here. */
const MAX_MESSAGE_LENGTH = 1_048_576;
/** An image is one message: 12 MiB in base64. */
const MAX_IMAGE_MESSAGE_LENGTH = 16_777_216;
const DONE = "[DONE]";
const NO_BYTES = new Uint8Array();

export interface ChatStreamOptions extends WantedParts {
  readonly signal: AbortSignal;
  /** How many tokens of the upstream's input this generation has produced itself. */
  readonly producedTokens: number;
  /** Whether it is known to make images. Default false. */
  readonly makesImages?: boolean | undefined;
  /** Called for every chunk that has pieces of tool calls. */
  readonly onPiece?: (() => void) | undefined;
  /** Called once the upstream has given a finish reason. */
  readonly onFinished?: (() => void) | undefined;
  /** Called for a part of the answer that no event has a place for. */
  readonly onLeftOut?: ((part: UnsupportedPart) => void) | undefined;
  /** Called for the first chunk that has a name of the answer or of its model. */
  readonly onAnswer?: ((answer: AnswerNames) => void) | undefined;
}

/** An answer that has begun. */
export interface ChatAnswer {
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Called once, when the answer is no longer read.
   * @param complete whether it was read to its end
   * @param error why it was not, where that is the answer's own fault
   */
  release(complete: boolean, error?: EngineError): void;
}

/**
 * A chat completion as events, from the request to the release of its answer. All of it is one generator: a further one around it would
 * cost every token a round of promises.
 *
 * A stream is whole once it has given a finish reason: what comes behind that is usage, for which it waits `USAGE_WAIT_MS`, and a
 * connection that breaks or stays open then, or a missing `[DONE]`, takes nothing from the text. One that ends without a finish reason
 * has failed, however cleanly it ended. So has one whose finish reason is an error's.
 *
 * The finish reason of a refusal is `content_filter`: a client that asked for a certain form has to know that this is not it.
 *
 * Tool calls come whole, before the finish, whose reason is always `tool_calls` then. Those of an
 * answer that was cut at its limit or by a filter are left out: it is unknown how much of them is missing.
 *
 * @param ask sends the request; undefined when the request's limit is reached already, and nothing is left to ask for
 * @throws what `ask` throws; EngineError `engine_failed`; the signal's reason
 */
export async function* readChatStream(
  ask: () => Promise<ChatAnswer | undefined>,
  {
    signal,
    producedTokens,
    topLogprobs,
    audioType,
    makesImages = false,
    onPiece,
    onFinished,
    onLeftOut,
    onAnswer,
  }: ChatStreamOptions,
): AsyncGenerator<EngineEvent, void> {
  signal.throwIfAborted();
  const answer = await ask();
  if (!answer) {
    yield { type: "finish", reason: "length", usage: { input_tokens: null, output_tokens: 0 } };
    return;
  }
  using lifetime = openLifetime(answer);
  using pieces = createUsageWait(answer.body);
  const maxMessageLength = makesImages ? MAX_IMAGE_MESSAGE_LENGTH : MAX_MESSAGE_LENGTH;
  const decoder = createSseDecoder({ maxMessageLength });
  let end: UpstreamEnd | undefined;
  let usage: ChatUsage | undefined;
  let refused = false;
  const sources = new SourceList(onLeftOut);
  let isNamed = false;
  let sound: MediaPieceEvent | undefined;
  const count = new TokenCount(producedTokens);
  const calls = new ToolCallAssembly();
  const wanted = { topLogprobs, audioType };
  const likely = topLogprobs === undefined ? undefined : new TextLogprobs();
  try {
    for (let over = false; !over;) {
      const step = await pieces.next();
      if (step.done) break;
      for (const { event, data } of decode(decoder, step.value, maxMessageLength)) {
        over = data.startsWith(DONE);
        if (over) break;
        const parsed = event === "error" ? { error: tryJson(data) ?? data } : parseChatMessage(data, wanted);
        if ("error" in parsed) throw toStreamError(parsed.error);
        const { chunk } = parsed;
        const { id, model } = chunk;
        if (!isNamed && (id ?? model) !== undefined) {
          isNamed = true;
          onAnswer?.({ id, model });
        }
        usage = chunk.usage ?? usage;
        if (end === undefined) {
          const logprobs = likely?.take(chunk, onLeftOut);
          for (const piece of count.toEvents(chunk)) {
            yield logprobs && piece.type === "text" ? { ...piece, logprobs } : piece;
            signal.throwIfAborted();
          }
          for (const piece of chunk.media) {
            sound = piece.kind === "audio" ? piece : sound;
            yield piece;
            signal.throwIfAborted();
          }
          for (const piece of chunk.toolCalls) calls.add(piece);
          if (chunk.toolCalls.length > 0) onPiece?.();
          for (const part of chunk.leftOut) onLeftOut?.(part);
          refused ||= chunk.refusal !== "";
          sources.take(chunk);
          // Last, because what goes wrong in a chunk goes wrong before its finish.
          end = chunk.end;
          if (end !== undefined) {
            onFinished?.();
            pieces.waitForUsage();
          }
        }
        over = end !== undefined && chunk.usage !== undefined;
        if (over) break;
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    if (end === undefined) throw lifetime.failed(error);
  }
  signal.throwIfAborted();
  const reason = toWhole(end);
  if (reason instanceof EngineError) throw lifetime.failed(reason);
  if (sound) {
    yield { ...sound, bytes: NO_BYTES, isLast: true };
    signal.throwIfAborted();
  }
  for (const source of sources.finish()) {
    yield source;
    signal.throwIfAborted();
  }
  const whole = reason === "length" || reason === "content_filter" ? [] : calls.finish();
  for (const call of whole) {
    yield call;
    signal.throwIfAborted();
  }
  lifetime.complete = true;
  yield { type: "finish", reason: toReason(reason, whole.length, refused), usage: count.total(usage) };
}

function openLifetime(answer: ChatAnswer) {
  let cause: EngineError | undefined;
  return {
    complete: false,
    /** @returns the error */
    failed(error: unknown) {
      if (error instanceof EngineError) cause = error;
      return error;
    },
    [Symbol.dispose]() {
      answer.release(this.complete, cause);
    },
  };
}

/** The reason of an answer that has come to an end of its own, or what is wrong with it. */
function toWhole(end: UpstreamEnd | undefined): FinishReason | EngineError {
  if (end === undefined) {
    const message = "The engine's answer ended without a finish reason.";
    return new EngineError("engine_failed", message, { retry: "broken" });
  }
  if (end === "failed") {
    const message = "The engine ended its answer with an error.";
    return new EngineError("engine_failed", message, { retry: "broken" });
  }
  return end;
}

/** Ollama and some versions of llama.cpp end a run that has called tools with `stop`; others say `tool_calls` of a run that has not. */
function toReason(reason: FinishReason, calls: number, refused: boolean): FinishReason {
  if (calls > 0) return "tool_calls";
  if (refused && reason === "stop") return "content_filter";
  return reason === "tool_calls" ? "other" : reason;
}

function decode(decoder: SseDecoder, bytes: Uint8Array, maxLength: number): SseMessage[] {
  try {
    return decoder.push(bytes);
  } catch {
    const message = `The engine sent a message of more than ${maxLength} characters.`;
    throw new EngineError("engine_failed", message, { retry: "never" });
  }
}
