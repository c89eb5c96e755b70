import type { EngineEvent } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import { createAnswerFrames } from "./answer-frames.ts";
import { AnswerReader, type AnswerReaderOptions } from "./answer-reader.ts";
import { createQuietWait } from "./quiet-wait.ts";

/** Far above any chunk; a server that never ends its message is stopped here. */
const MAX_MESSAGE_LENGTH = 1_048_576;
/** An image is one message: 12 MiB in base64. */
const MAX_IMAGE_MESSAGE_LENGTH = 16_777_216;

export interface ChatStreamOptions extends Omit<AnswerReaderOptions, "retryAfterMs"> {
  readonly signal: AbortSignal;
  /** True if the model is known to make images. Default false. */
  readonly makesImages?: boolean | undefined;
  /** Called when the model has said its last word, as far as can be told. */
  readonly onFinished?: (() => void) | undefined;
  /** Called when it was not its last word. */
  readonly onResumed?: (() => void) | undefined;
}

/** An answer that has begun. */
export interface ChatAnswer {
  readonly body: AsyncIterable<Uint8Array>;
  /** When the upstream wants to be asked again, should it refuse the request in its answer. */
  readonly retryAfterMs?: number | undefined;
  /**
   * Called once, when the answer is no longer read.
   * @param complete whether it was read to its end
   * @param error why it was not, where that is the answer's own fault
   */
  release(complete: boolean, error?: EngineError): void;
}

/**
 * A chat completion as events, from the request to the release of its answer; `AnswerReader` says what becomes of what an upstream
 * sends. All of it is one generator: a further one around it would cost every token a round of promises.
 *
 * A connection that breaks or stays open after the answer's last word takes nothing from the text.
 *
 * @param ask sends the request; undefined when the request's limit is reached already, and nothing is left to ask for
 * @throws what `ask` throws; EngineError `engine_failed`, or the error that the upstream's refusal names; the signal's reason
 */
export async function* readChatStream(
  ask: () => Promise<ChatAnswer | undefined>,
  { signal, makesImages = false, onFinished, onResumed, ...options }: ChatStreamOptions,
): AsyncGenerator<EngineEvent, void> {
  signal.throwIfAborted();
  const answer = await ask();
  if (!answer) {
    yield { type: "finish", reason: "length", usage: { input_tokens: null, output_tokens: 0 } };
    return;
  }
  using lifetime = openLifetime(answer);
  using pieces = createQuietWait(answer.body);
  const frames = createAnswerFrames({
    maxMessageLength: makesImages ? MAX_IMAGE_MESSAGE_LENGTH : MAX_MESSAGE_LENGTH,
  });
  const reader = new AnswerReader({ ...options, retryAfterMs: answer.retryAfterMs });
  let wasFinished = false;
  let news = 0;
  try {
    for (let isLast = false; !isLast && !reader.isOver;) {
      const step = await pieces.next().catch((error: unknown) => {
        // A connection that breaks after the last word takes nothing from the answer.
        if (!reader.isFinished) throw error;
        return { done: true, value: undefined } as const;
      });
      isLast = step.done === true;
      for (const frame of step.done ? frames.end() : frames.push(step.value)) {
        const events = reader.take(frame);
        if (wasFinished !== reader.isFinished) {
          wasFinished = reader.isFinished;
          if (wasFinished) onFinished?.();
          else onResumed?.();
        }
        for (const event of events) {
          yield event;
          signal.throwIfAborted();
        }
        if (reader.isOver) break;
        if (news !== reader.news) pieces.expect(reader.silenceMs);
        ({ news } = reader);
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    throw lifetime.failed(error);
  }
  signal.throwIfAborted();
  for (const event of lifetime.finish(() => reader.finish(pieces.wasSilent))) {
    lifetime.complete = event.type === "finish";
    yield event;
    signal.throwIfAborted();
  }
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
    finish<T>(finish: () => T): T {
      try {
        return finish();
      } catch (error) {
        throw this.failed(error);
      }
    },
    [Symbol.dispose]() {
      answer.release(this.complete, cause);
    },
  };
}
