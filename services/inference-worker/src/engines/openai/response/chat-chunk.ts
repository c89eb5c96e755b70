import type { TokenLogprobs } from "@reprise/protocol";
import * as z from "zod";
import { EngineError } from "../../engine-error.ts";
import { toUpstreamEnd, type UpstreamEnd } from "./finish-reason.ts";
import { joinParts, type MessageContent, plainText } from "../request/message-content.ts";
import type { AnnotationEvent, MediaPieceEvent, SealedEvent, SummaryEvent } from "../../engine.ts";
import { toAnnotations, toSources } from "./annotations.ts";
import { toLogprobs } from "./logprobs.ts";
import { toReasoningDetails } from "./reasoning-details.ts";
import { toMadeMedia } from "./made-media.ts";
import type { ToolCallDelta } from "./tool-call-assembly.ts";

/** Parts of an answer that no event has a place for. */
export type UnsupportedPart = "annotations" | "images" | "logprobs" | "other content";

/** What one chunk of a chat completion's stream says. */
export interface ChatChunk {
  /** Of the answer; undefined where it is missing or longer than `MAX_NAME`. */
  readonly id: string | undefined;
  /** What the upstream calls the model that answers; as `id`. */
  readonly model: string | undefined;
  /** "" when it has none. What the model speaks is text too. */
  readonly text: string;
  readonly reasoning: string;
  /** What the model says to refuse. */
  readonly refusal: string;
  /** What of the reasoning is not its text. */
  readonly thoughts: readonly (SummaryEvent | SealedEvent)[];
  readonly annotations: readonly AnnotationEvent[];
  /** Sources of the answer as a whole, told again with each chunk; undefined where the chunk names none. */
  readonly sources: readonly AnnotationEvent[] | undefined;
  /** Of the tokens of the chunk, whatever they are of; undefined where it has none, or none are wanted. */
  readonly logprobs: TokenLogprobs | undefined;
  /** What the model makes beside words. A sound ends with the answer. */
  readonly media: readonly MediaPieceEvent[];
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
  /** Of the prompt, and of the completion; 0 where the upstream does not say. */
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
}

/** `error` is set when the upstream says in mid-stream that it has failed. */
export type ChatMessage = { readonly chunk: ChatChunk } | { readonly error: unknown };

/** A malformed count is unknown; the text that comes with it counts. */
const tokenCount = z.int().min(0).nullish().catch(null);
const usageSchema = z
  .object({
    prompt_tokens: tokenCount,
    completion_tokens: tokenCount,
    prompt_tokens_details: z
      .object({ cached_tokens: tokenCount, audio_tokens: tokenCount })
      .nullish()
      .catch(null),
    completion_tokens_details: z
      .object({ reasoning_tokens: tokenCount, audio_tokens: tokenCount })
      .nullish()
      .catch(null),
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
  reasoning_details: z.unknown().optional(),
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
  citations: z.unknown().optional(),
  search_results: z.unknown().optional(),
});

type Delta = z.infer<typeof delta>;

/** What of an answer depends on its request. */
export interface WantedParts {
  /** How many of the most likely tokens were asked for; undefined where log probabilities were not. */
  readonly topLogprobs?: number | undefined;
  /** Of what the model speaks, which no chunk says. */
  readonly audioType?: string | undefined;
}

/**
 * Parses the data of one SSE message other than `[DONE]`. Of several choices the first counts: this version asks for one.
 * @throws EngineError `engine_failed` when it is not a chunk
 */
export function parseChatMessage(data: string, { topLogprobs, audioType }: WantedParts = {}): ChatMessage {
  const json = parseJson(data);
  const parsed = chunkSchema.safeParse(json);
  if (!parsed.success) throw notAChunk("The engine sent a chunk that is not one of a chat completion.");
  const { id, model, object, error, choices, usage, timings } = parsed.data;
  const { citations, search_results: results } = parsed.data;
  if (error || object === "error") return { error: json };
  const choice = choices?.find(({ index }) => (index ?? 0) === 0);
  const said = choice?.delta;
  const content = toContent(said?.content);
  // Gateways that serve old clients too send both names with the same text.
  const reasoning = content.reasoning || said?.reasoning || (said?.reasoning_content ?? "");
  const details = toReasoningDetails(said?.reasoning_details, reasoning);
  const hasSummary = details.thoughts.some(({ type }) => type === "summary");
  const annotated = toAnnotations(said?.annotations);
  const logprobs = topLogprobs === undefined ? undefined : toLogprobs(choice?.logprobs, topLogprobs);
  const made = toMadeMedia(said?.audio, said?.images, audioType);
  const counted = toUsage(
    usage?.prompt_tokens,
    usage?.completion_tokens,
    usage?.prompt_tokens_details?.cached_tokens ?? timings?.cache_n,
    usage?.completion_tokens_details?.reasoning_tokens,
    [usage?.prompt_tokens_details?.audio_tokens, usage?.completion_tokens_details?.audio_tokens],
  );
  return {
    chunk: {
      id,
      model,
      text: content.text + made.transcript,
      reasoning: hasSummary ? details.text : reasoning || details.text,
      refusal: content.refusal || (said?.refusal ?? ""),
      thoughts: details.thoughts,
      annotations: [...content.annotations, ...annotated.annotations],
      sources: toSources(citations, results),
      logprobs,
      media: made.pieces,
      toolCalls: said?.tool_calls ?? [],
      end: toUpstreamEnd(choice?.finish_reason),
      usage: counted,
      progress:
        counted ?? toUsage(sum(timings?.prompt_n, timings?.cache_n), timings?.predicted_n, timings?.cache_n),
      leftOut: findLeftOut(logprobs ? undefined : choice?.logprobs, {
        ...content,
        hasOtherSources: annotated.hasOthers,
        hasOtherImages: made.hasOtherImages,
      }),
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
  [audioInput, audioOutput]: readonly (number | null | undefined)[] = [],
): ChatUsage | undefined {
  if (promptTokens === null && completionTokens === null) return undefined;
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    reasoningTokens,
    audioInputTokens: audioInput ?? 0,
    audioOutputTokens: audioOutput ?? 0,
  };
}

function sum(count: number | null | undefined, more: number | null | undefined): number | null {
  return typeof count === "number" ? count + (more ?? 0) : null;
}

const NOTHING_LEFT_OUT: readonly UnsupportedPart[] = [];

interface Others extends Pick<MessageContent, "hasOthers"> {
  readonly hasOtherSources: boolean;
  readonly hasOtherImages: boolean;
}

function findLeftOut(
  logprobs: unknown,
  { hasOthers, hasOtherSources, hasOtherImages }: Others,
): readonly UnsupportedPart[] {
  if (!logprobs && !hasOthers && !hasOtherSources && !hasOtherImages) return NOTHING_LEFT_OUT;
  return [
    ...(hasOtherSources ? (["annotations"] as const) : []),
    ...(hasOtherImages ? (["images"] as const) : []),
    ...(isFilled(logprobs) ? (["logprobs"] as const) : []),
    ...(hasOthers ? (["other content"] as const) : []),
  ];
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
