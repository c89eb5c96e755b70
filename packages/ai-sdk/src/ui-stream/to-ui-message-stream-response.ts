import { RepriseError, type StreamEvent } from "@reprise/client";
import { createUiStream } from "@reprise/projections/wire";

/** The generation to send: a stream of `@reprise/client`, read from the generation's start. */
export interface FollowedGeneration extends AsyncIterable<StreamEvent> {
  /** Undefined on a stream from `run` until the platform has answered. */
  readonly id: string | undefined;
}

export interface UiMessageStreamOptions {
  /**
   * The index of the first chunk that is sent, `[DONE]` not counted: what `WorkflowChatTransport` asks for. The chunks before it are made
   * and left out. Default 0.
   */
  startIndex?: number;
  /** The message that the generation continues, after a tool's answer. Default: a new one, whose id is the generation's. */
  messageId?: string;
  /**
   * When the generation was created, as `create` and `get` say it: of the message's metadata. Default: its metadata does not say it, as no event does. Readers
   * are told the same chunks where all of them, or none, are given it.
   */
  createdAt?: string;
  /** Sent beside the stream's own, or in place of them. */
  headers?: Readonly<Record<string, string>>;
  /** Default 200. */
  status?: number;
}

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-vercel-ai-ui-message-stream": "v1",
};

/**
 * A generation as the AI SDK's UI message stream, for an app's own route handler. Reads when the reader does; a reader that leaves closes the connection to
 * the platform and cancels nothing. If the stream breaks and another reading may get further, the response is aborted, because clients treat a clean end as
 * the message's end. An error that no retry fixes is sent, regardless of `startIndex`, and ends the response.
 * @throws RepriseError `invalid_request` for a `startIndex` that is no whole number from 0, and a `createdAt` that is no time
 */
export function toUIMessageStreamResponse(
  generation: FollowedGeneration,
  { startIndex = 0, messageId, createdAt, headers = {}, status = 200 }: UiMessageStreamOptions = {},
): Response {
  if (!Number.isSafeInteger(startIndex) || startIndex < 0) {
    const message = `startIndex must be a whole number from 0, got ${startIndex}.`;
    throw new RepriseError("invalid_request", message, { param: "startIndex" });
  }
  const createdAtMs = createdAt === undefined ? undefined : Date.parse(createdAt);
  if (Number.isNaN(createdAtMs)) {
    const message = `createdAt must be a time as RFC 3339 has it, got ${createdAt}.`;
    throw new RepriseError("invalid_request", message, { param: "createdAt" });
  }
  const events = generation[Symbol.asyncIterator]();
  const chunks = toChunks(generation, events, { messageId, createdAtMs });
  const encoder = new TextEncoder();
  let index = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { done, value: chunk } = await chunks.next();
        if (done) return controller.close();
        const { data, isOfLog } = chunk;
        if (isOfLog && index++ < startIndex) continue;
        return controller.enqueue(encoder.encode(`data: ${data}\n\n`));
      }
    },
    async cancel() {
      // Ends a `next` that waits, which the generator's own `return` would wait for.
      await events.return?.();
      await chunks.return();
    },
  });
  const all = new Headers(HEADERS);
  if (generation.id !== undefined) all.set("x-workflow-run-id", generation.id);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return new Response(body, { status, headers: all });
}

const DONE = "[DONE]";

interface Chunk {
  readonly data: string;
  /** It has an index. `[DONE]` has none, and neither has what is told of a stream that nothing of the log ends: every reader needs it. */
  readonly isOfLog: boolean;
}

/** A generation was left before its end. */
function endless(): RepriseError {
  return new RepriseError("connection_lost", "The stream was left before the generation ended.");
}

interface Message {
  readonly messageId: string | undefined;
  readonly createdAtMs: number | undefined;
}

/** @throws what the generation's loop throws, where another reading may get further */
async function* toChunks(
  generation: FollowedGeneration,
  events: ReturnType<FollowedGeneration[typeof Symbol.asyncIterator]>,
  { messageId, createdAtMs }: Message,
): AsyncGenerator<Chunk, void, undefined> {
  const projection = createUiStream({ messageId });
  type Fold = typeof projection;
  type Run = Parameters<Fold["begin"]>[0];
  let state: ReturnType<Fold["begin"]> | undefined;
  try {
    for await (const event of { [Symbol.asyncIterator]: () => events }) {
      // Of the log alone, so that every reader is told the same.
      state ??= projection.begin({
        generation: generation.id as Run["generation"],
        model: event.type === "generation.started" ? event.model : undefined,
        createdAtMs: createdAtMs as Run["createdAtMs"],
      });
      const told = projection.project(state, event as Parameters<Fold["project"]>[1]);
      state = told.state;
      for (const { data } of told.frames) yield { data, isOfLog: data !== DONE };
      if (projection.hasEnded(state)) return;
    }
    throw endless();
  } catch (error) {
    const isFinal =
      error instanceof Error && "code" in error && "retryable" in error && error.retryable === false;
    if (!isFinal) throw error;
    const { code, message: errorText } = error;
    const failure = { type: "error", errorText, code, retryable: false };
    const finish = { type: "finish", finishReason: "error" };
    for (const data of [JSON.stringify(failure), JSON.stringify(finish), DONE])
      yield { data, isOfLog: false };
  }
}
