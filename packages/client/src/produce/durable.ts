import type { Client, CreateOptions, GenerationRequest } from "../client.ts";
import { piecesOf, produce, type Producer, type ProducerEnd, type ProducerEntry } from "./producer-of.ts";

/** The part of the result of the AI SDK's `streamText` that `durable` reads. */
export interface StreamedResult {
  readonly fullStream: AsyncIterable<StreamPart>;
}

interface StreamPart {
  readonly type: string;
  readonly text?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly finishReason?: string;
  readonly totalUsage?: {
    readonly inputTokens?: number | undefined;
    readonly outputTokens?: number | undefined;
  };
  readonly error?: unknown;
}

const DELTAS: Readonly<Record<string, string>> = {
  "text-delta": "output.delta",
  "reasoning-delta": "reasoning.delta",
};

const REASONS: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
};

const UNFINISHED = {
  code: "engine_failed",
  message: "The model's stream has ended without a finish.",
  retryable: true,
} as const;

/**
 * Writes what the AI SDK's `streamText` streams to a generation, which readers follow by its id, also after this process's own connections are lost. If the
 * create joins a generation that an earlier call with its key has begun, the output of that is withdrawn. A stream without a finish fails the generation.
 * Tool calls are written at the finish, without those that the AI SDK has answered itself.
 * @param stream calls the model; given the producer's signal, which is aborted when the generation is cancelled
 * @returns the generation's id at once, and `done`, which rejects with what has ended the writing
 * @throws RepriseError the generation could not be created
 */
export async function durable(
  client: Client,
  request: Omit<GenerationRequest, "model">,
  stream: (signal: AbortSignal) => StreamedResult,
  options?: CreateOptions,
): Promise<{ readonly id: string; readonly done: Promise<void> }> {
  const producer = await produce(client, request, { ...options, rewind: true });
  const done = writeAll(client, producer, stream);
  // A caller who does not wait for it does not fail by it.
  done.catch(() => {});
  return { id: producer.id, done };
}

async function writeAll(
  { transport }: Client,
  producer: Producer,
  stream: (signal: AbortSignal) => StreamedResult,
): Promise<void> {
  const { signal } = producer;
  try {
    let end: ProducerEnd | undefined;
    const calls = new Map<unknown, ProducerEntry>();
    for await (const part of stream(signal).fullStream) {
      signal.throwIfAborted();
      const { type, text = "", toolCallId } = part;
      if (type === "error") throw part.error;
      if (type === "finish") end = toEnd(part);
      if (type === "tool-call") calls.set(toolCallId, toCall(part));
      if (/^tool-(result|error|output-denied)$/.test(type)) calls.delete(toolCallId);
      // It is waited for at the end: a slow network must not slow the model.
      const delta = DELTAS[type];
      if (delta) for (const piece of piecesOf(delta, text)) void producer.append(piece);
    }
    // A stream that the app aborts ends so.
    if (!end) {
      await producer.fail(UNFINISHED);
      throw transport.error(UNFINISHED.code, UNFINISHED.message);
    }
    for (const call of calls.values()) void producer.append(call);
    await producer.end(end);
  } finally {
    await producer[Symbol.asyncDispose]();
  }
}

function toCall({ toolCallId: call_id, toolName: name, input = {} }: StreamPart): ProducerEntry {
  return { type: "tool.call", call_id, name, arguments: JSON.stringify(input) };
}

function toEnd({
  finishReason = "",
  totalUsage: { inputTokens, outputTokens } = {},
}: StreamPart): ProducerEnd {
  return {
    finish_reason: REASONS[finishReason] ?? "other",
    ...(outputTokens !== undefined && {
      usage: { input_tokens: inputTokens ?? null, output_tokens: outputTokens },
    }),
  };
}
