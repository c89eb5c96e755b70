import type { TokenLogprobs } from "@reprise/protocol";
import { EngineError } from "../../engine-error.ts";
import { type ReasoningField, REASONING_FIELDS as RETURNED_FIELDS } from "../dialect-form.ts";
import { toUpstreamEnd, type UpstreamEnd } from "./finish-reason.ts";
import { joinParts, type MessageContent, plainText } from "../request/message-content.ts";
import type { AnnotationEvent, MediaPieceEvent, SealedEvent, SummaryEvent } from "../../engine.ts";
import { toAnnotations, toSources } from "./annotations.ts";
import { type ChatUsage, readTimings, readUsage } from "./chat-usage.ts";
import { toLogprobs } from "./logprobs.ts";
import { toReasoningDetails } from "./reasoning-details.ts";
import { toMadeMedia } from "./made-media.ts";
import { readToolCalls, type ToolCallDelta } from "./tool-call-delta.ts";

/** Parts of an answer that no event has a place for. */
export type UnsupportedPart = "annotations" | "images" | "logprobs" | "other content" | "provider state";

/** One parsed chunk of a chat completion's stream. */
export interface ChatChunk {
  /** The answer's id; undefined if it is missing or longer than `MAX_NAME`. */
  readonly id: string | undefined;
  /** The upstream's name of the model that answers; undefined as for `id`. */
  readonly model: string | undefined;
  /** "" when it has none. What the model speaks is text too. */
  readonly text: string;
  readonly reasoning: string;
  /** True if it is a whole message and not a piece of one. */
  readonly isSnapshot: boolean;
  /** The model's refusal text. */
  readonly refusal: string;
  /** Reasoning that is not plain text. */
  readonly thoughts: readonly (SummaryEvent | SealedEvent)[];
  readonly annotations: readonly AnnotationEvent[];
  /** Sources of the answer as a whole, told again with each chunk; undefined where the chunk names none. */
  readonly sources: readonly AnnotationEvent[] | undefined;
  /** Log probabilities of the chunk's tokens, of any kind; undefined if it has none, or none are wanted. */
  readonly logprobs: TokenLogprobs | undefined;
  /** Media that the model makes. An audio content ends with the answer. */
  readonly media: readonly MediaPieceEvent[];
  readonly toolCalls: readonly ToolCallDelta[];
  readonly end: UpstreamEnd | undefined;
  readonly usage: ChatUsage | undefined;
  /** The upstream's count up to this chunk, if it counts while it streams. */
  readonly progress: ChatUsage | undefined;
  readonly leftOut: readonly UnsupportedPart[];
}

/** No id of a known server has half as many characters. */
const MAX_NAME = 256;

/**
 * Fields of a delta in which servers and gateways have what a model thinks. Those that serve old clients too send several of them with the
 * same text: the first that has one counts.
 */
const REASONING_FIELDS = [
  "reasoning",
  "reasoning_content",
  "reasoning_text",
  "thinking",
  "thinking_content",
  "thinking_text",
  "thought",
  "thoughts",
  "reasoningContent",
  "reasoning_summary",
  "thinking_delta",
  "think",
];

type Fields = Readonly<Record<string, unknown>>;

/** The parts of an answer that depend on its request. */
export interface WantedParts {
  /** The number of most likely tokens that the request asks for; undefined if it asks for no log probabilities. */
  readonly topLogprobs?: number | undefined;
  /** The media type of the model's speech, which no chunk states. */
  readonly audioType?: string | undefined;
}

/**
 * Reads one chunk of a chat completion's stream, or a whole chat completion. Upstreams differ in everything that is not content: what is
 * missing, null or malformed there is read as if it were not sent. Of several choices the first counts: one is asked for.
 * @throws EngineError `engine_failed` where content has a form that would lose it
 */
export function readChatChunk(json: Fields, { topLogprobs, audioType }: WantedParts = {}): ChatChunk {
  const choice = readChoice(json["choices"]);
  const said = fieldsOf(choice["delta"] ?? choice["message"]);
  const content = toContent(said["content"] ?? choice["text"]);
  const reasoning = content.reasoning || readReasoning(said);
  const details = toReasoningDetails(said["reasoning_details"], reasoning);
  const hasSummary = details.thoughts.some(({ type }) => type === "summary");
  const annotated = toAnnotations(said["annotations"]);
  const logprobs = topLogprobs === undefined ? undefined : toLogprobs(choice["logprobs"], topLogprobs);
  const made = toMadeMedia(said["audio"], said["images"], audioType);
  const counted = readUsage(json, choice, said);
  const timings = readTimings(json["timings"]);
  return {
    id: nameOf(json["id"]),
    model: nameOf(json["model"]),
    isSnapshot: !choice["delta"] && isFilled(choice["message"]),
    text: content.text + made.transcript,
    reasoning: hasSummary ? details.text : reasoning || details.text,
    refusal: content.refusal || textOf(said["refusal"]),
    thoughts: details.thoughts,
    annotations: [...content.annotations, ...annotated.annotations],
    sources: toSources(json["citations"], json["search_results"]),
    logprobs,
    media: made.pieces,
    toolCalls: readToolCalls(said["tool_calls"], said["function_call"]),
    end: toUpstreamEnd(choice["finish_reason"] ?? said["finish_reason"]),
    usage:
      counted && timings
        ? { ...counted, cachedTokens: counted.cachedTokens ?? timings.cachedTokens }
        : counted,
    progress: counted ?? timings,
    leftOut: findLeftOut(logprobs ? undefined : choice["logprobs"], {
      ...content,
      hasOtherSources: annotated.hasOthers,
      hasOtherImages: made.hasOtherImages,
    }),
  };
}

/** Returns the first choice; no fields where the chunk has none. */
function readChoice(choices: unknown): Fields {
  if (choices === undefined || choices === null) return NO_FIELDS;
  if (!Array.isArray(choices)) throw notAChunk();
  const isFirst = (choice: Fields) => !(Number(choice["index"]) > 0);
  return choices.map(fieldsOf).find(isFirst) ?? NO_FIELDS;
}

function toContent(content: unknown): MessageContent {
  if (typeof content === "object" && content !== null) return joinParts(content);
  if (typeof content !== "string" && content !== undefined && content !== null) throw notAChunk();
  return plainText(content ?? "");
}

/** Finds the field of a chunk that has the model's thoughts, where a request can hand them back in it. */
export function findReasoningField(json: Fields): ReasoningField | undefined {
  const choice = readChoice(json["choices"]);
  const said = fieldsOf(choice["delta"] ?? choice["message"]);
  return RETURNED_FIELDS.find((field) => textOf(said[field]) !== "");
}

function readReasoning(delta: Fields): string {
  for (const field of REASONING_FIELDS) {
    const value = delta[field];
    const { content, text: said = content } = fieldsOf(value);
    const text = Array.isArray(value) ? joinParts(value).text : textOf(said ?? value);
    if (text !== "") return text;
  }
  return "";
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

const NO_FIELDS: Fields = {};

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : NO_FIELDS;
}

function isFilled(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME
    ? value.toWellFormed()
    : undefined;
}

function notAChunk(): EngineError {
  return new EngineError("engine_failed", "The engine sent a chunk that is not one of a chat completion.", {
    retry: "broken",
  });
}
