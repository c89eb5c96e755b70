import {
  type Annotation,
  type Failure,
  type Generation,
  type GenerationEvent,
  type GenerationStatus,
  isTerminal,
  type Usage,
} from "@reprise/protocol/wire";
import type { StreamEvent } from "./stream-event.ts";
import { NAME_CHANNEL, ShownText } from "./shown-text.ts";

type Said<T extends GenerationEvent["type"]> = Extract<GenerationEvent, { type: T }>;
type Call = Generation["tool_calls"][number];
type Ending = Pick<Generation, "usage"> & Partial<Pick<Generation, "finish_reason" | "error">>;
type Counted = Pick<Said<"output.delta">, "input_tokens" | "cached_input_tokens" | "tokens">;

/** A text with the event that brought it; in the channel `tool`, the place of a call or its answer. */
interface Part {
  readonly seq: number;
  readonly channel: string;
  readonly said: string;
  /** The text to show. */
  text: string;
}

const OUTPUT = "0";
const REFUSAL = "refusal";
const TOOL = "tool";

/**
 * The content of the events handed out so far: the platform's `Transcript`, without the parts that only the platform uses. Those are most of it, and a page
 * would load them all. A property test compares the two, event by event. Events come in the log's order, each once.
 */
export class ReaderTranscript {
  finishReason: string | undefined;
  failure: Failure | undefined;
  /** The open reviews, by their ids. They outlast the end. */
  readonly reviews = new Map<string, Said<"moderation.review">>();
  readonly #shown = new ShownText();
  #parts: Part[] = [];
  #annotations: Said<"output.annotation">[] = [];
  #phase: GenerationStatus = "queued";
  readonly #waiting = new Map<string, Said<"tool.call">>();
  #usage: Usage = { input_tokens: null, output_tokens: 0 };
  /** For each channel: the texts that were joined already, and the number of their parts. */
  #joined: Record<string, { text: string; parts: number }> = {};

  get status(): GenerationStatus {
    return this.#waiting.size > 0 && !isFinal(this.#phase) ? "awaiting_tool" : this.#phase;
  }

  get text(): string {
    return this.#join(OUTPUT);
  }

  get refusal(): string {
    return this.#join(REFUSAL);
  }

  get answer(): string {
    const afterTool = this.#parts.findLastIndex(({ channel }) => channel === TOOL) + 1;
    if (afterTool === 0) return this.text;
    return this.#parts
      .slice(afterTool)
      .reduce((text, part) => text + (part.channel === OUTPUT ? part.text : ""), "");
  }

  get annotations(): Annotation[] {
    return this.#annotations.map(({ seq, type: _type, ...said }) => {
      // No annotation has this title: it says that nothing was withdrawn.
      const title = this.#shown.of(seq, "annotation", "\0");
      if (title === "\0") return said as Annotation;
      const { kind, from_seq, to_seq, from_offset, to_offset } = said;
      const place = JSON.parse(JSON.stringify({ kind, from_seq, to_seq, from_offset, to_offset }));
      return { ...place, title, redacted: true };
    });
  }

  /** The tool calls that have no answer. */
  get pendingCalls(): Call[] {
    return [...this.#waiting.values()].map(({ seq, call_id, name, arguments: text }) => ({
      call_id,
      name: this.#shown.of(seq, NAME_CHANNEL, name),
      arguments: this.#shown.of(seq, TOOL, text),
    }));
  }

  get usage(): Usage {
    return { ...this.#usage };
  }

  apply(event: StreamEvent): void {
    const usage = this.#usage;
    const { seq } = event;
    switch (event.type) {
      case "generation.started":
        this.#phase = "in_progress";
        usage.input_tokens = event.input_tokens ?? usage.input_tokens;
        return;
      case "output.delta":
        this.#count(event);
        if (!event.output) this.#add(seq, OUTPUT, event.text);
        return;
      case "refusal.delta":
        this.#count(event);
        this.#add(seq, REFUSAL, event.text);
        return;
      case "reasoning.delta":
        this.#count(event, event.tokens ?? 1);
        return;
      case "reasoning.summary.delta":
        if (event.tokens) this.#count({ tokens: event.tokens }, event.tokens);
        return;
      case "output.annotation":
        this.#annotations.push(event);
        return;
      case "output.rewind":
        this.#rewind(event.to_seq);
        return;
      case "tool.call": {
        const { audio_input_tokens: heard, audio_output_tokens: spoken } = event;
        this.#count({ ...event, tokens: event.tokens ?? 0 }, event.reasoning_tokens);
        if (heard) usage.audio_input_tokens ??= heard;
        if (spoken) usage.audio_output_tokens = (usage.audio_output_tokens ?? 0) + spoken;
        this.#add(seq, TOOL);
        this.#waiting.set(event.call_id, event);
        return;
      }
      case "tool.result":
        if (this.#waiting.delete(event.call_id)) this.#add(seq, TOOL);
        return;
      case "moderation.review":
        this.reviews.set(event.review_id, event);
        return;
      case "moderation.reviewed":
        this.reviews.delete(event.review_id);
        return;
      default:
        this.#withdraw(event);
        if (isTerminal(event.type))
          this.end(event.type.slice("generation.".length) as FinalStatus, event as Ending);
    }
  }

  /** Takes how the generation ended from its last event or, where no event has told it, from what the platform says of it. */
  end(status: FinalStatus, { usage, finish_reason, error }: Ending): void {
    this.#phase = status;
    this.#usage = { ...usage };
    if (status === "completed") this.finishReason = finish_reason ?? undefined;
    this.failure = error ?? undefined;
    if (this.finishReason !== "tool_calls") this.#waiting.clear();
  }

  #add(seq: number, channel: string, said = ""): void {
    this.#parts.push({ seq, channel, said, text: this.#shown.of(seq, channel, said) });
  }

  /** Joins the texts of a channel. Read after every event it costs no more than read once, while nothing is taken back. */
  #join(channel: string): string {
    const joined = (this.#joined[channel] ??= { text: "", parts: 0 });
    for (const part of this.#parts.slice(joined.parts))
      if (part.channel === channel) joined.text += part.text;
    joined.parts = this.#parts.length;
    return joined.text;
  }

  #rewind(toSeq: number): void {
    this.#parts = this.#parts.filter(({ seq }) => seq <= toSeq);
    this.#annotations = this.#annotations.filter(({ seq }) => seq <= toSeq);
    for (const [id, { seq }] of this.#waiting) if (seq > toSeq) this.#waiting.delete(id);
    this.#joined = {};
  }

  #withdraw(event: StreamEvent): void {
    const range = this.#shown.apply(event);
    if (!range) return;
    for (const part of this.#parts)
      if (part.seq >= range.from && part.seq <= range.to)
        part.text = this.#shown.of(part.seq, part.channel, part.said);
    this.#joined = {};
  }

  /** @param reasoning how many of its tokens were reasoning; undefined while that is unknown */
  #count({ input_tokens, cached_input_tokens, tokens = 1 }: Counted, reasoning?: number): void {
    const usage = this.#usage;
    usage.input_tokens ??= input_tokens ?? null;
    if (cached_input_tokens !== undefined) usage.cached_input_tokens ??= cached_input_tokens;
    usage.output_tokens += tokens;
    if (reasoning !== undefined) usage.reasoning_tokens = (usage.reasoning_tokens ?? 0) + reasoning;
  }
}

export type FinalStatus = Extract<GenerationStatus, "completed" | "failed" | "cancelled">;

export function isFinal(status: GenerationStatus): status is FinalStatus {
  return isTerminal(`generation.${status}`);
}
