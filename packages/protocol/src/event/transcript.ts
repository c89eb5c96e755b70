import type { Seq } from "../seq.ts";
import { type Cursor, START } from "./cursor.ts";
import type {
  AttemptEnd,
  Failure,
  FinishReason,
  GenerationEvent,
  KnownEvent,
  UnknownEvent,
  Usage,
} from "./event.ts";
import type { OutputItem, ThoughtItem, ToolCallItem, TurnItem } from "./output-item.ts";
import { type Annotation, ANNOTATION_CHANNEL, redactAnnotation } from "./annotation.ts";
import { joinTexts, Segments } from "./segments.ts";
import { SEALED_CHANNEL, WithdrawnText } from "./withdrawn-text.ts";

export type GenerationStatus =
  | "queued"
  | "in_progress"
  | "awaiting_tool"
  | "completed"
  | "failed"
  | "cancelled";

type Said<T extends KnownEvent["type"]> = Extract<KnownEvent, { type: T }>;

export interface TranscriptOptions {
  /** True if `text` and `output` are the original ones, for workers and auditors, not those that may be shown. Default false. */
  readonly original?: boolean;
}

/**
 * State of a log so far, folded event by event. Deterministic: the same events in the same order give the same transcript everywhere. Events must come in the
 * order of the log. An event that was already folded is ignored, and so is seq 0, which has nothing that a reader may see. An event that moderation has
 * withdrawn has the same effect in its original form and in the form that `Withdrawals` projects.
 */
export class Transcript {
  finishReason: FinishReason | undefined;
  failure: Failure | undefined;
  /** Number of attempts that count against `max_attempts`: those that ended with a worker's loss, a timeout or an engine's failure, and the running one. */
  countedAttempts = 0;
  /** Why the current attempt is over, as its worker recorded; undefined while it runs, or when its worker was lost. */
  attemptEnd: AttemptEnd | undefined;
  /** The worker of the current attempt, and the model whose engine it uses. */
  worker: string | undefined;
  servedModel: string | undefined;
  /** The event by which moderation has stopped the generation; undefined until then. An end follows, or came before. */
  halted: Said<"moderation.halted"> | undefined;
  /** When a reader last had to do without moderation, and what was answered. */
  lastUnavailable: Said<"moderation.unavailable"> | undefined;
  readonly #reviews = new Map<string, Said<"moderation.review">>();
  protected readonly withdrawn: WithdrawnText | undefined;
  protected readonly segments: Segments;
  protected readonly refusals: Segments;
  readonly #thoughts: Segments;
  #sealed: Said<"reasoning.sealed">[] = [];
  /** Annotations and made blobs that count. */
  protected beside: Said<"output.annotation" | "output.blob">[] = [];
  #phase: Exclude<GenerationStatus, "awaiting_tool"> = "queued";
  #cursor: Cursor = START;
  #pendingCalls = new Set<string>();
  readonly #callSeqs = new Map<string, Seq>();
  #shownSeq = 0;
  #usage: Usage = { input_tokens: null, output_tokens: 0 };

  constructor({ original = false }: TranscriptOptions = {}) {
    this.withdrawn = original ? undefined : new WithdrawnText();
    this.segments = new Segments(this.withdrawn);
    this.refusals = new Segments(this.withdrawn, "refusal");
    this.#thoughts = new Segments(this.withdrawn, "reasoning");
  }

  get status(): GenerationStatus {
    return this.#pendingCalls.size > 0 && !this.ended ? "awaiting_tool" : this.#phase;
  }

  /** The position of the last event that was folded. */
  get cursor(): Cursor {
    return this.#cursor;
  }

  get attempt(): number {
    return this.#cursor.attempt;
  }

  get ended(): boolean {
    return this.#phase === "completed" || this.#phase === "failed" || this.#phase === "cancelled";
  }

  /** The text of output 0, without what was rewound, and with the replacements of withdrawn text. */
  get text(): string {
    return this.segments.text;
  }

  /** The model's refusal, with withdrawals applied as in `text`; "" if there is none. */
  get refusal(): string {
    return this.refusals.text;
  }

  /** Where something in the text comes from, in the order of the log, as `text` has it. */
  get annotations(): Annotation[] {
    return this.beside.flatMap(({ seq, type, ...said }) => {
      if (type === "output.blob") return [];
      const title = this.withdrawn?.replacementOf(seq, ANNOTATION_CHANNEL);
      const annotation = said as Annotation;
      return title === undefined ? annotation : redactAnnotation(annotation, title);
    });
  }

  /** Output and tool answers, in order, with withdrawals applied as in `text`; neighbouring texts are joined. */
  get output(): OutputItem[] {
    return this.segments.output;
  }

  /** `output` with the model's thoughts in between, as an engine is given it back. */
  get turns(): TurnItem[] {
    const sealed = this.#sealed.filter(
      ({ seq, encrypted }) =>
        encrypted !== "" && this.withdrawn?.replacementOf(seq, SEALED_CHANNEL) === undefined,
    );
    const thoughts: { seq: Seq; item: ThoughtItem }[] = [
      ...this.#thoughts.list.flatMap(({ seq, item }) =>
        item.type === "text" ? [{ seq, item: { type: "reasoning" as const, text: item.text } }] : [],
      ),
      ...sealed.map(({ seq, encrypted, id }) => ({ seq, item: { type: "sealed" as const, encrypted, id } })),
    ];
    if (thoughts.length === 0) return this.output;
    const parts = [...this.segments.list, ...thoughts].toSorted((a, b) => a.seq - b.seq);
    return joinTexts(parts.map(({ item }): TurnItem => item));
  }

  /** The text after the last tool call: the part that has the format that the request asks for, if any has. */
  get answer(): string {
    const last = this.segments.output.at(-1);
    return last?.type === "text" ? last.text : "";
  }

  /** The tool calls that have no answer. Once the generation has ended there are none, unless it has ended with them. */
  get pendingCalls(): ToolCallItem[] {
    if (this.#pendingCalls.size === 0) return [];
    const isPending = (callId: string) => this.#pendingCalls.has(callId);
    return this.segments.list.flatMap(({ item }) =>
      item.type === "tool_call" && isPending(item.call_id) ? [item] : [],
    );
  }

  /** The open reviews, by their ids. They outlast the end. */
  get reviews(): ReadonlyMap<string, Said<"moderation.review">> {
    return this.#reviews;
  }

  /** Returns true if a tool was ever called with this id, answered or not, rewound or not: an id is never reused. */
  hasCall(callId: string): boolean {
    return this.#callSeqs.has(callId);
  }

  /** The `seq` of the call with this id, under the same conditions. */
  callSeq(callId: string): Seq | undefined {
    return this.#callSeqs.get(callId);
  }

  /** Returns true if a call with this id exists and was not rewound. */
  keepsCall(callId: string): boolean {
    return this.segments.list.some(({ item }) => item.type === "tool_call" && item.call_id === callId);
  }

  /** Returns true if a valid tool answer exists for a call with this id. */
  hasResult(callId: string): boolean {
    return this.segments.list.some(({ item }) => item.type === "tool_result" && item.call_id === callId);
  }

  /** The `seq` of the last tool's answer, after which an engine begins a new run; 0 without one. */
  get turnSeq(): Seq {
    return this.segments.turnSeq;
  }

  /** True if readers have been shown text or reasoning since then that was not rewound. */
  get turnShown(): boolean {
    return this.#shownSeq > this.turnSeq;
  }

  /** The last output that counts; 0 for none. */
  get saidSeq(): Seq {
    return Math.max(this.#shownSeq, this.segments.list.at(-1)?.seq ?? 0) as Seq;
  }

  /** Usage by the terminal event; before it, the counts so far. Counts everything generated, rewound or not. */
  get usage(): Usage {
    return { ...this.#usage };
  }

  /** Takes an event as the platform has it, or as clients do. */
  apply(event: KnownEvent | UnknownEvent | GenerationEvent): void;
  apply(event: KnownEvent | UnknownEvent): void {
    if (event.seq <= this.#cursor.seq) return;
    const { attempt, nonce } = event.type === "generation.started" ? event : this.#cursor;
    this.#cursor = { attempt, nonce, seq: event.seq };
    switch (event.type) {
      case "generation.requested":
        return;
      case "generation.started":
        this.#begin(event);
        return;
      case "attempt.ended":
        if (event.attempt === attempt) this.attemptEnd = event.reason;
        return;
      case "output.delta":
      case "refusal.delta":
      case "reasoning.delta": {
        const { seq, type, text, tokens = 1 } = event;
        this.#count(event, tokens, type === "reasoning.delta" ? tokens : undefined);
        this.#shownSeq = seq;
        if (type === "reasoning.delta") this.#thoughts.add(seq, { type: "text", text, tokens });
        if (type === "refusal.delta") this.refusals.add(seq, { type: "text", text, tokens });
        if (type === "output.delta" && !event.output) this.segments.add(seq, { type: "text", text, tokens });
        return;
      }
      case "output.annotation":
      case "output.blob":
        this.beside.push(event);
        this.#shownSeq = event.seq;
        return;
      case "reasoning.summary.delta":
        if (event.tokens) this.#count({}, event.tokens, event.tokens);
        this.#shownSeq = event.seq;
        return;
      case "reasoning.sealed":
        this.#sealed.push(event);
        this.#shownSeq = event.seq;
        return;
      case "output.rewind":
        this.#rewind(event.to_seq);
        return;
      case "tool.call": {
        const { call_id, name, arguments: text, provider_state } = event;
        const call: ToolCallItem = {
          type: "tool_call",
          call_id,
          name,
          arguments: text,
          ...(provider_state && { provider_state }),
        };
        this.#count(event, event.tokens ?? 0, event.reasoning_tokens);
        this.#countAudio(event);
        this.segments.add(event.seq, call);
        this.#pendingCalls.add(call_id);
        if (!this.#callSeqs.has(call_id)) this.#callSeqs.set(call_id, event.seq);
        return;
      }
      case "tool.result":
        if (!this.#pendingCalls.delete(event.call_id)) return;
        this.segments.add(event.seq, {
          type: "tool_result",
          call_id: event.call_id,
          output: event.output,
          content: event.content,
        });
        return;
      case "moderation.redacted":
        this.#withdraw(event);
        return;
      case "moderation.halted":
        this.halted ??= event;
        this.#withdraw(event);
        return;
      case "moderation.review":
        this.#reviews.set(event.review_id, event);
        return;
      case "moderation.reviewed":
        this.#reviews.delete(event.review_id);
        return;
      case "moderation.unavailable":
        this.lastUnavailable = event;
        return;
      case "generation.completed":
        this.#end("completed", event.usage, event.finish_reason === "tool_calls");
        this.finishReason = event.finish_reason;
        return;
      case "generation.failed":
        this.#end("failed", event.usage);
        this.failure = event.error;
        return;
      case "generation.cancelled":
        this.#end("cancelled", event.usage);
        return;
      default:
        // A type of a later version changes nothing here.
        return;
    }
  }

  #withdraw(event: KnownEvent): void {
    for (const range of this.withdrawn?.apply(event) ?? [])
      for (const texts of [this.segments, this.refusals, this.#thoughts]) texts.reread(range);
  }

  #begin(started: Said<"generation.started">): void {
    const { attempt, reason = "worker_lost" } = started;
    if (attempt === 1 || ["worker_lost", "timeout", "engine_failed"].includes(reason)) this.countedAttempts++;
    this.#phase = "in_progress";
    this.attemptEnd = undefined;
    this.worker = started.worker;
    this.servedModel = started.model;
    this.#usage.input_tokens = started.input_tokens ?? this.#usage.input_tokens;
  }

  /** @param reasoning how many of them were reasoning; undefined while that is unknown */
  #count(
    said: Pick<Said<"output.delta">, "input_tokens" | "cached_input_tokens">,
    tokens: number,
    reasoning: number | undefined,
  ): void {
    const usage = this.#usage;
    usage.input_tokens ??= said.input_tokens ?? null;
    if (said.cached_input_tokens !== undefined) usage.cached_input_tokens ??= said.cached_input_tokens;
    usage.output_tokens += tokens;
    if (reasoning !== undefined) usage.reasoning_tokens = (usage.reasoning_tokens ?? 0) + reasoning;
  }

  #countAudio({ audio_input_tokens: input, audio_output_tokens: output }: Said<"tool.call">): void {
    const usage = this.#usage;
    if (input) usage.audio_input_tokens ??= input;
    if (output) usage.audio_output_tokens = (usage.audio_output_tokens ?? 0) + output;
  }

  #end(status: "completed" | "failed" | "cancelled", usage: Usage, keepsCalls = false): void {
    this.#phase = status;
    this.#usage = { ...usage };
    if (!keepsCalls) this.#pendingCalls.clear();
  }

  #rewind(toSeq: Seq): void {
    for (const item of this.segments.rewind(toSeq)) {
      if (item.type === "tool_call") this.#pendingCalls.delete(item.call_id);
    }
    this.refusals.rewind(toSeq);
    this.#thoughts.rewind(toSeq);
    this.#sealed = this.#sealed.filter(({ seq }) => seq <= toSeq);
    this.beside = this.beside.filter(({ seq }) => seq <= toSeq);
    this.#shownSeq = Math.min(this.#shownSeq, toSeq);
  }
}
