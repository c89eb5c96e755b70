import * as z from "zod";
import { EngineError } from "../../engine-error.ts";
import { toUpstreamEnd, type UpstreamEnd } from "./finish-reason.ts";
import { joinParts, type MessageContent, plainText } from "../request/message-content.ts";
import type { ToolCallDelta } from "./tool-call-assembly.ts";

/** Parts of an answer that no event has a place for. */
export type UnsupportedPart = "annotations" | "audio" | "images" | "logprobs" | "other content";

/** What one chunk of a chat completion's stream says. */
export interface ChatChunk {
  /** Of the answer; undefined where it is missing or longer than `MAX_NAME`. */
  readonly id: string | undefined;
  /** What the upstream calls the model that answers; as `id`. */
  readonly model: string | undefined;
  /** "" when it has none. What a model says to refuse is text. */
  readonly text: string;
  readonly reasoning: string;
  readonly refused: boolean;
  readonly toolCalls: readonly ToolCallDelta[];
  readonly end: UpstreamEnd | undefined;
  readonly usage: ChatUsage | undefined;
  /** What the upstream has counted up to this chunk, where it counts as it goes. */
  readonly progress: ChatUsage | undefined;
  readonly leftOut: readonly UnsupportedPart[];
}

export interface ChatUsage {
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Of the prompt; null where the upstream does not say. */
  readonly cachedTokens: number | null;
  /** Of the completion. */
  readonly reasoningTokens: number | null;
}

/** `error` is set when the upstream says in mid-stream that it has failed. */
export type ChatMessage = { readonly chunk: ChatChunk } | { readonly error: unknown };

/** A malformed count is unknown; the text that comes with it counts. */
const tokenCount = z.int().min(0).nullish().catch(null);
const usageSchema = z
  .object({
    prompt_tokens: tokenCount,
    completion_tokens: tokenCount,
    prompt_tokens_details: z.object({ cached_tokens: tokenCount }).nullish().catch(null),
    completion_tokens_details: z.object({ reasoning_tokens: tokenCount }).nullish().catch(null),
  })
  .nullish()
  .catch(null);

/** llama.cpp's, with `timings_per_token`. */
const timingsSchema = z
  .object({ cache_n: tokenCount, prompt_n: tokenCount, predicted_n: tokenCount })
  .nullish()
  .catch(null);

const optionalText = z.string().nullish().catch(null);

/** No id of a known server has half as many characters. */
const MAX_NAME = 256;
const name = z.string().min(1).max(MAX_NAME).optional().catch(undefined);

const toolCall = z
  .object({
    index: z.int().min(0).nullish(),
    id: z.string().nullish(),
    function: z
      .object({
        name: z.string().nullish(),
        // The API has a text; some hand on what their own API has.
        arguments: z.union([z.string(), z.record(z.string(), z.json())]).nullish(),
      })
      .nullish(),
  })
  .transform(({ index, id, function: called }): ToolCallDelta => {
    const args = called?.arguments ?? "";
    return {
      index: index ?? undefined,
      id: id || undefined,
      name: called?.name || undefined,
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    };
  });

const delta = z.object({
  content: z.union([z.string(), z.looseObject({}), z.array(z.unknown())]).nullish(),
  refusal: optionalText,
  reasoning: optionalText,
  reasoning_content: optionalText,
  tool_calls: z.array(toolCall).nullish(),
  annotations: z.unknown().optional(),
  audio: z.unknown().optional(),
  images: z.unknown().optional(),
});

/** No more than is used: upstreams differ in everything else, and nulls and absent fields mean the same to all of them. */
const chunkSchema = z.object({
  id: name,
  model: name,
  object: z.unknown().optional(),
  error: z.unknown().optional(),
  choices: z
    .array(
      z.object({
        index: z.int().nullish(),
        delta: delta.nullish(),
        logprobs: z.unknown().optional(),
        finish_reason: z.unknown().optional(),
      }),
    )
    .nullish(),
  usage: usageSchema,
  timings: timingsSchema,
});

type Delta = z.infer<typeof delta>;

/**
 * Parses the data of one SSE message other than `[DONE]`. Of several choices the first counts: this version asks for one.
 * @throws EngineError `engine_failed` when it is not a chunk
 */
export function parseChatMessage(data: string): ChatMessage {
  const json = parseJson(data);
  const parsed = chunkSchema.safeParse(json);
  if (!parsed.success) throw notAChunk("The engine sent a chunk that is not one of a chat completion.");
  const { id, model, object, error, choices, usage, timings } = parsed.data;
  if (error || object === "error") return { error: json };
  const choice = choices?.find(({ index }) => (index ?? 0) === 0);
  const said = choice?.delta;
  const content = toContent(said?.content);
  const refusal = content.refusal || (said?.refusal ?? "");
  const counted = toUsage(
    usage?.prompt_tokens,
    usage?.completion_tokens,
    usage?.prompt_tokens_details?.cached_tokens ?? timings?.cache_n,
    usage?.completion_tokens_details?.reasoning_tokens,
  );
  return {
    chunk: {
      id,
      model,
      text: content.text + refusal,
      // Gateways that serve old clients too send both names with the same text.
      reasoning: content.reasoning || said?.reasoning || (said?.reasoning_content ?? ""),
      refused: refusal !== "",
      toolCalls: said?.tool_calls ?? [],
      end: toUpstreamEnd(choice?.finish_reason),
      usage: counted,
      progress:
        counted ?? toUsage(sum(timings?.prompt_n, timings?.cache_n), timings?.predicted_n, timings?.cache_n),
      leftOut: findLeftOut(choice?.logprobs, said ?? {}, content),
    },
  };
}

function toContent(content: Delta["content"]): MessageContent {
  return typeof content === "object" && content !== null ? joinParts(content) : plainText(content ?? "");
}

function toUsage(
  promptTokens: number | null = null,
  completionTokens: number | null = null,
  cachedTokens: number | null = null,
  reasoningTokens: number | null = null,
): ChatUsage | undefined {
  if (promptTokens === null && completionTokens === null) return undefined;
  return { promptTokens, completionTokens, cachedTokens, reasoningTokens };
}

function sum(count: number | null | undefined, more: number | null | undefined): number | null {
  return typeof count === "number" ? count + (more ?? 0) : null;
}

const NOTHING_LEFT_OUT: readonly UnsupportedPart[] = [];

function findLeftOut(
  logprobs: unknown,
  { annotations, audio, images }: Partial<Delta>,
  { hasOthers }: MessageContent,
): readonly UnsupportedPart[] {
  if (!logprobs && !annotations && !audio && !images && !hasOthers) return NOTHING_LEFT_OUT;
  const parts = { annotations, audio, images, logprobs };
  const found = (Object.keys(parts) as (keyof typeof parts)[]).filter((part) => isFilled(parts[part]));
  return hasOthers ? [...found, "other content"] : found;
}

function isFilled(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // The parser's own message quotes what the model said.
    throw notAChunk("The engine sent a chunk that is not JSON.");
  }
}

function notAChunk(message: string): EngineError {
  return new EngineError("engine_failed", message, { retry: "broken" });
}
