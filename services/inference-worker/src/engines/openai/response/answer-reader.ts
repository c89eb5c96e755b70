import type { FinishReason } from "@reprise/protocol";
import type { AnswerNames, EngineEvent, MediaPieceEvent } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import { toEarlyError, toStreamError } from "../errors/stream-error.ts";
import type { ReasoningField } from "../dialect-form.ts";
import type { AnswerFrame } from "./answer-frames.ts";
import {
  type ChatChunk,
  findReasoningField,
  readChatChunk,
  type UnsupportedPart,
  type WantedParts,
} from "./chat-chunk.ts";
import { type ChatUsage, joinUsage } from "./chat-usage.ts";
import type { UpstreamEnd } from "./finish-reason.ts";
import { TextLogprobs } from "./logprobs.ts";
import { SourceList } from "./source-list.ts";
import { type ThinkTagForm, ThinkTags } from "./think-tags.ts";
import { TokenCount } from "./token-count.ts";
import { ToolCallAssembly } from "./tool-call-assembly.ts";

export interface AnswerReaderOptions extends WantedParts {
  /** Tokens of the upstream's input that this generation has produced itself. */
  readonly producedTokens: number;
  /** The way the model writes its reasoning into its text. Default: it does not. */
  readonly thinkTags?: ThinkTagForm | undefined;
  /** When the upstream wants to be asked again, should its answer be an error. */
  readonly retryAfterMs?: number | undefined;
  /** Called for every chunk that has pieces of tool calls. */
  readonly onPiece?: (() => void) | undefined;
  /** Called for a part of the answer that no event has a place for. */
  readonly onLeftOut?: ((part: UnsupportedPart) => void) | undefined;
  /** Called once, with what the upstream calls the model's thoughts. */
  readonly onReasoningField?: ((field: ReasoningField) => void) | undefined;
  /** Called for the first chunk that has a name of the answer or of its model. */
  readonly onAnswer?: ((answer: AnswerNames) => void) | undefined;
}

/** Longest silence of the upstream after its finish reason, in milliseconds. */
export const SILENCE_MS = 1_000;
/** The same while its usage is missing. */
export const USAGE_WAIT_MS = 2_000;
/** The same after a reason that is not to be trusted: one before any answer, or of an upstream that has given one before its last words. */
export const DOUBT_MS = 5_000;

const NO_BYTES = new Uint8Array();
const NO_CHUNK: ChatChunk = readChatChunk({});

/**
 * Makes events of an answer's frames: the one place that knows how servers differ in what they send. What carries no content is
 * ignored; an answer fails only where content would be lost or invented. The service's README has the table of what is accepted.
 *
 * A finish reason does not end the answer, for some upstreams give one with every chunk. `[DONE]` does, the end of the body, or a
 * silence after a reason; after `[DONE]` only usage is read. An answer without a reason is whole if `[DONE]` says so and its calls
 * are whole. One that ends without either has failed, however cleanly it ended, and so has one whose reason is an error's.
 *
 * The finish reason of a refusal is `content_filter`: a client that asked for a certain form has to know that this is not it. Tool calls
 * come whole, before the finish, whose reason is always `tool_calls` then. Those of an answer that was cut at its limit or by a filter are
 * left out: it is unknown how much of them is missing.
 */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #count: TokenCount;
  readonly #calls: ToolCallAssembly;
  readonly #sources: SourceList;
  readonly #likely: TextLogprobs | undefined;
  readonly #tags: ThinkTags | undefined;
  readonly #texts = {
    text: new WholeCharacters(),
    reasoning: new WholeCharacters(),
    refusal: new WholeCharacters(),
  };
  #end: UpstreamEnd | undefined;
  #usage: ChatUsage | undefined;
  #sound: MediaPieceEvent | undefined;
  #isNamed = false;
  #isDone = false;
  #isRefused = false;
  #hasReasoned = false;
  #news = 0;
  /** True if content has come, and the number of chunks that are part of the answer. */
  #hasBegun = false;
  #answerChunks = 0;
  /** True if pieces have come, so that a whole message repeats them. */
  #hasPieces = false;
  /** True if a frame has come that may have been an error. */
  #hasUnknown = false;
  /** True if the last reason came with the first words. */
  #isWithFirst = false;
  /** True if content has come since the last reason. */
  #isReasonOld = false;
  /** True if the answer continued after a finish reason. */
  #isEarly = false;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
    this.#count = new TokenCount(options.producedTokens);
    this.#calls = new ToolCallAssembly(() => options.onLeftOut?.("provider state"));
    this.#sources = new SourceList(options.onLeftOut);
    this.#likely = options.topLogprobs === undefined ? undefined : new TextLogprobs();
    this.#tags = options.thinkTags ? new ThinkTags(options.thinkTags === "opened") : undefined;
  }

  /** True if the model has said its last word, as far as can be told: only usage may still come. */
  get isFinished(): boolean {
    if (this.#isDone) return true;
    if (this.#end === undefined || this.#answerChunks === 0) return false;
    // A reason that comes with the first words may come with all, and calls are not given out by halves.
    return !this.#isEarly && !this.#isWithFirst && this.#calls.areWhole;
  }

  /** True if the answer is over. */
  get isOver(): boolean {
    return this.#isDone && this.#isCounted;
  }

  /** Changes with each frame that says something: others make no silence shorter. */
  get news(): number {
    return this.#news;
  }

  /** For how long the upstream may be silent now until the answer is taken to be over; undefined while it is not. */
  get silenceMs(): number | undefined {
    if (this.#end === undefined && !this.#isDone) return undefined;
    if (!this.isFinished) return DOUBT_MS;
    return this.#isCounted ? SILENCE_MS : USAGE_WAIT_MS;
  }

  get #isCounted(): boolean {
    const { promptTokens = null, completionTokens = null } = this.#usage ?? {};
    return promptTokens !== null && (completionTokens !== null || !this.#hasBegun);
  }

  /** @throws EngineError `engine_failed`; `engine_unavailable` or `engine_rejected` for an error before anything else */
  take(frame: AnswerFrame): readonly EngineEvent[] {
    if (this.#isDone) return this.#takeUsage(frame);
    switch (frame.kind) {
      case "done":
        this.#isDone = true;
        this.#news++;
        return NONE;
      case "unknown":
        this.#hasUnknown = true;
        return NONE;
      case "unreadable":
        throw frame.error;
      case "error":
        // An upstream that has said its last word may fail to count it.
        if (this.isFinished) return NONE;
        throw this.#hasBegun
          ? toStreamError(frame.error)
          : toEarlyError(frame.error, this.#options.retryAfterMs);
      case "chunk":
        return this.#takeChunk(frame.json);
    }
  }

  /**
   * Takes the end of the answer.
   * @param wasSilent whether the upstream has been silent for `silenceMs`, and its body has not ended
   * @throws EngineError `engine_failed` where the answer is not whole
   */
  finish(wasSilent = false): readonly EngineEvent[] {
    const reason = this.#toWhole();
    if (wasSilent && !this.#isDone && !this.#calls.areWhole)
      throw broken("The engine fell silent within a tool call.");
    const events = this.#flush();
    if (this.#sound) events.push({ ...this.#sound, bytes: NO_BYTES, isLast: true });
    events.push(...this.#sources.finish());
    const calls = reason === "length" || reason === "content_filter" ? [] : this.#calls.finish();
    events.push(...calls, {
      type: "finish",
      reason: toReason(reason, calls.length, this.#isRefused),
      ...(this.#end === undefined && { isReasonMissing: true }),
      usage: this.#count.total(this.#usage),
    });
    return events;
  }

  #takeChunk(json: Readonly<Record<string, unknown>>): EngineEvent[] {
    const chunk = this.#withoutRepetition(readChatChunk(json, this.#options));
    const { id, model, media, toolCalls, leftOut } = chunk;
    const { onAnswer, onPiece, onLeftOut } = this.#options;
    if (!this.#isNamed && (id ?? model) !== undefined) {
      this.#isNamed = true;
      onAnswer?.({ id, model });
    }
    if (chunk.reasoning !== "" && !this.#hasReasoned) this.#tellReasoning(json);
    const wasCounted = this.#isCounted;
    this.#usage = joinUsage(this.#usage, chunk.usage);
    const isAnswer = chunk.text !== "" || chunk.refusal !== "" || toolCalls.length > 0 || media.length > 0;
    const isContent = isAnswer || chunk.reasoning !== "" || chunk.thoughts.length > 0;
    if (isContent) {
      this.#isEarly ||= this.#end !== undefined;
      this.#isReasonOld = true;
      this.#hasBegun = true;
    }
    if (isContent || chunk.end !== undefined || wasCounted !== this.#isCounted) this.#news++;
    if (isAnswer) this.#answerChunks++;
    const events = this.#toWords(chunk);
    for (const piece of media) {
      if (piece.kind === "audio") this.#sound = piece;
      events.push(piece);
    }
    for (const piece of toolCalls) this.#calls.add(piece);
    if (toolCalls.length > 0) onPiece?.();
    for (const part of leftOut) onLeftOut?.(part);
    this.#isRefused ||= chunk.refusal !== "";
    this.#sources.take(chunk);
    this.#takeEnd(chunk.end, isAnswer);
    return events;
  }

  /** The last reason counts. One that says that words are missing is not taken back by one that does not, unless more words have come. */
  #takeEnd(end: UpstreamEnd | undefined, isWithAnswer: boolean): void {
    if (end === undefined) return;
    this.#isWithFirst = isWithAnswer && this.#answerChunks === 1;
    const isCut = this.#end === "length" || this.#end === "content_filter" || this.#end === "failed";
    if (!isCut || this.#isReasonOld) this.#end = end;
    this.#isReasonOld = false;
  }

  /** Some repeat the message as a whole at its end. */
  #withoutRepetition(chunk: ChatChunk): ChatChunk {
    if (!chunk.isSnapshot) {
      this.#hasPieces ||= chunk.text !== "" || chunk.reasoning !== "" || chunk.toolCalls.length > 0;
      return chunk;
    }
    return this.#hasPieces
      ? { ...NO_CHUNK, usage: chunk.usage, progress: chunk.progress, end: chunk.end }
      : chunk;
  }

  #tellReasoning(json: Readonly<Record<string, unknown>>): void {
    this.#hasReasoned = true;
    const field = findReasoningField(json);
    if (field) this.#options.onReasoningField?.(field);
  }

  #toWords(chunk: ChatChunk): EngineEvent[] {
    let text = this.#texts.text.take(chunk.text);
    let reasoning = this.#texts.reasoning.take(chunk.reasoning);
    if (this.#tags && text !== "") {
      const told = this.#tags.take(text);
      ({ text } = told);
      reasoning += told.reasoning;
    }
    const refusal = this.#texts.refusal.take(chunk.refusal);
    return this.#toEvents({ ...chunk, text, reasoning, refusal });
  }

  /** Returns the words that were held back. */
  #flush(): EngineEvent[] {
    const { text, reasoning, refusal } = this.#texts;
    const told = this.#tags?.take(text.end());
    const held = this.#tags?.end();
    return this.#toEvents({
      ...NO_CHUNK,
      text: told && held ? told.text + held.text : text.end(),
      reasoning: reasoning.end() + (told?.reasoning ?? "") + (held?.reasoning ?? ""),
      refusal: refusal.end(),
    });
  }

  #toEvents(chunk: ChatChunk): EngineEvent[] {
    const logprobs = this.#likely?.take(chunk, this.#options.onLeftOut);
    const events = this.#count.toEvents(chunk);
    if (!logprobs) return events;
    return events.map((event) => (event.type === "text" ? { ...event, logprobs } : event));
  }

  #takeUsage(frame: AnswerFrame): readonly EngineEvent[] {
    if (frame.kind === "chunk") this.#usage = joinUsage(this.#usage, usageOf(frame.json));
    return NONE;
  }

  #toWhole(): FinishReason {
    if (this.#end === "failed") throw broken("The engine ended its answer with an error.");
    if (this.#end !== undefined) return this.#end;
    const isWhole = this.#answerChunks > 0 && this.#calls.areWhole && !this.#hasUnknown;
    if (!this.#isDone || !isWhole) throw broken("The engine's answer ended without a finish reason.");
    return "stop";
  }
}

const NONE: readonly EngineEvent[] = [];

/** Reads the usage of a chunk that comes after the answer's end. */
function usageOf(json: Readonly<Record<string, unknown>>): ChatUsage | undefined {
  try {
    return readChatChunk(json).usage;
  } catch {
    return undefined;
  }
}

/** Ollama and some versions of llama.cpp end a run that has called tools with `stop`; others say `tool_calls` of a run that has not. */
function toReason(reason: FinishReason, calls: number, refused: boolean): FinishReason {
  if (calls > 0) return "tool_calls";
  if (refused && reason === "stop") return "content_filter";
  return reason === "tool_calls" ? "other" : reason;
}

function broken(message: string): EngineError {
  return new EngineError("engine_failed", message, { retry: "broken" });
}

/**
 * Joins characters that an upstream has cut in two: it may end a piece with the first half of a surrogate pair and begin the next one
 * with the second. A half that stays alone becomes U+FFFD, for text with one is refused by many readers.
 */
class WholeCharacters {
  #half = "";

  /** Returns the text with the half before it, without the half at its end. */
  take(piece: string): string {
    if (piece === "" || (this.#half === "" && piece.isWellFormed())) return piece;
    const text = this.#half + piece;
    this.#half = isFirstHalf(text.charCodeAt(text.length - 1)) ? text.slice(-1) : "";
    return (this.#half === "" ? text : text.slice(0, -1)).toWellFormed();
  }

  /** Returns what a half became that got no other. */
  end(): string {
    const rest = this.#half.toWellFormed();
    this.#half = "";
    return rest;
  }
}

function isFirstHalf(unit: number): boolean {
  return unit >= 0xd8_00 && unit <= 0xdb_ff;
}
