import type { FinishReason, GenerationId, KnownEvent, UnixMs, UnknownEvent, Usage } from "@reprise/protocol";
import { toLineJson } from "@reprise/protocol/wire";
import { isUntold } from "../is-untold.ts";
import type { Frame, ProjectedRun, Projection } from "../projection.ts";
import { restartedChunk, toErrorChunk } from "./errors.ts";
import { toBlobChunk, toCallChunk, toSourceChunk } from "./part-chunks.ts";
import type { UiChunk, UiUsage } from "./ui-chunk.ts";

type Said<Type extends KnownEvent["type"]> = Extract<KnownEvent, { type: Type }>;

/** A text or reasoning that is being told. */
interface OpenPart {
  readonly kind: "text" | "reasoning";
  readonly id: string;
  /** Which text it is of: `text`, `refusal`, `reasoning`, or a part of the summary. */
  readonly of: string;
}

/** Progress of a UI message stream. */
export interface UiStreamState {
  readonly generation: GenerationId;
  readonly model: string | undefined;
  readonly createdAtMs: UnixMs | undefined;
  readonly hasBegun: boolean;
  /** `finish` and `[DONE]`, once they were told. */
  readonly end: readonly Frame[] | undefined;
  readonly part: OpenPart | undefined;
  /** A step is open: what it holds, a `reset-step` takes back. */
  readonly inStep: boolean;
  /** A tool has answered in the step: what the model says next is another step. */
  readonly isAnswered: boolean;
  /** The seq of the first event told in the open step, and of the last told; 0 for none. */
  readonly stepSeq: number;
  readonly lastSeq: number;
  /** The seq of the last event of the earlier steps. A rewind to before it can't be expressed. */
  readonly closedSeq: number;
  /** The tool calls of the open step. */
  readonly calls: ReadonlySet<string>;
}

type Draft = { -readonly [Field in keyof UiStreamState]: UiStreamState[Field] };

const NO_CALLS: ReadonlySet<string> = new Set();
const DONE: Frame = { data: "[DONE]" };

export interface UiStreamOptions {
  /** The message that the generation continues, after a tool's answer. Default: a new one, whose id is the generation's. */
  readonly messageId?: string | undefined;
}

/** Facts about a generation before its first event. Unknown ones are left out of the message's metadata. */
export interface UiRun {
  readonly generation: GenerationId;
  readonly model?: ProjectedRun["model"] | undefined;
  readonly createdAtMs?: ProjectedRun["createdAtMs"] | undefined;
}

export interface UiStream extends Projection<UiStreamState> {
  begin(run: UiRun): UiStreamState;
}

/** The AI SDK's UI message stream. Each frame is one chunk; `[DONE]` follows the last. */
export function createUiStream({ messageId }: UiStreamOptions = {}): UiStream {
  return {
    name: messageId === undefined ? "ai-sdk" : `ai-sdk+${messageId}`,
    isTextless: true,
    begin: ({ generation, model, createdAtMs }) => ({
      generation,
      model,
      createdAtMs,
      hasBegun: false,
      end: undefined,
      part: undefined,
      inStep: false,
      isAnswered: false,
      stepSeq: 0,
      lastSeq: 0,
      closedSeq: 0,
      calls: NO_CALLS,
    }),
    project(state, event) {
      if (state.end) return { state, frames: [] };
      const telling = new Telling(state, messageId);
      telling.tell(event);
      return { state: telling.state, frames: telling.frames };
    },
    hasEnded: ({ end }) => end !== undefined,
  };
}

/**
 * Frames for a client that has all chunks and reconnects, with or without `[DONE]`. `WorkflowChatTransport` reconnects for ever to a stream without
 * `finish`, and treats 204 as an error.
 */
export function endUiStreamAgain({ end }: UiStreamState): readonly Frame[] {
  return end ?? [];
}

/** One event, told. */
class Telling {
  readonly state: Draft;
  readonly frames: Frame[] = [];
  readonly #messageId: string | undefined;

  constructor(state: UiStreamState, messageId: string | undefined) {
    this.state = { ...state };
    this.#messageId = messageId;
  }

  tell(event: KnownEvent | UnknownEvent): void {
    if (isUntold(event)) return;
    switch (event.type) {
      case "generation.started":
        return this.#begin();
      case "output.delta":
        // The message has one text.
        return event.output ? undefined : this.#delta(event, "text", "text");
      case "refusal.delta":
        return this.#delta(event, "text", "refusal");
      case "reasoning.delta":
        return this.#delta(event, "reasoning", "reasoning");
      case "reasoning.summary.delta":
        return this.#delta(event, "reasoning", `summary ${event.part ?? 0}`);
      case "reasoning.sealed":
        return this.#sealed(event);
      case "output.annotation": {
        const chunk = toSourceChunk(event);
        return chunk && this.#show(event.seq, chunk);
      }
      case "output.blob":
        return this.#show(event.seq, toBlobChunk(event, this.state.generation));
      case "tool.call":
        this.#open(event.seq);
        this.#closePart();
        this.state.calls = new Set([...this.state.calls, event.call_id]);
        return this.#say(toCallChunk(event));
      case "tool.result":
        return this.#answer(event);
      case "output.rewind":
        return this.#rewind(event.to_seq);
      case "generation.completed":
        return this.#completed(event);
      case "generation.failed":
        return this.#end([toErrorChunk(event.error)], "error", { usage: toUiUsage(event.usage) });
      case "generation.cancelled":
        return this.#cancelled(event);
      default:
        return undefined;
    }
  }

  #say(chunk: UiChunk): void {
    this.frames.push({ data: toLineJson(chunk) });
  }

  #begin(): void {
    if (this.state.hasBegun) return;
    this.state.hasBegun = true;
    const { generation, model, createdAtMs } = this.state;
    this.#say({
      type: "start",
      messageId: this.#messageId ?? generation,
      messageMetadata: { generation, model, createdAt: createdAtMs },
    });
  }

  /** Makes sure that a step is open for what an event says. */
  #open(seq: number): void {
    const { state } = this;
    this.#begin();
    if (state.isAnswered) {
      this.#say({ type: "finish-step" });
      Object.assign(state, {
        inStep: false,
        isAnswered: false,
        closedSeq: state.lastSeq,
        stepSeq: 0,
        calls: NO_CALLS,
      });
    }
    if (!state.inStep) this.#say({ type: "start-step" });
    state.inStep = true;
    if (state.stepSeq === 0) state.stepSeq = seq;
    state.lastSeq = seq;
  }

  #show(seq: number, chunk: UiChunk): void {
    this.#open(seq);
    this.#say(chunk);
  }

  #delta({ seq, text }: { seq: number; text: string }, kind: OpenPart["kind"], of: string): void {
    this.#open(seq);
    const { id } = this.#openPart(seq, kind, of);
    this.#say({ type: `${kind}-delta`, id, delta: text });
  }

  #openPart(seq: number, kind: OpenPart["kind"], of: string): OpenPart {
    const { part } = this.state;
    if (part?.of === of) return part;
    this.#closePart();
    const opened = { kind, of, id: `${kind}-${seq}` };
    this.state.part = opened;
    const isSummary = of.startsWith("summary");
    this.#say({
      type: `${kind}-start`,
      id: opened.id,
      ...(isSummary && { providerMetadata: { reprise: { summary: true } } }),
    });
    return opened;
  }

  #closePart(): void {
    const { part } = this.state;
    if (!part) return;
    this.state.part = undefined;
    this.#say({ type: `${part.kind}-end`, id: part.id });
  }

  /** It ends the reasoning that it is the sealed form of. */
  #sealed({ seq, encrypted, id }: Said<"reasoning.sealed">): void {
    this.#open(seq);
    const { part } = this.state;
    const reasoning = part?.kind === "reasoning" ? part : this.#openPart(seq, "reasoning", "reasoning");
    this.state.part = undefined;
    // Where moderation has withdrawn it nothing is left.
    const sealed = encrypted === "" ? {} : { encrypted, ...(id !== undefined && { id }) };
    const summary = reasoning.of === "reasoning" ? {} : { summary: true as const };
    this.#say({
      type: "reasoning-end",
      id: reasoning.id,
      providerMetadata: { reprise: { ...summary, ...sealed } },
    });
  }

  #answer({ seq, call_id: toolCallId, output, content }: Said<"tool.result">): void {
    const { state } = this;
    if (!state.calls.has(toolCallId)) return;
    state.lastSeq = seq;
    state.isAnswered = true;
    this.#say({ type: "tool-output-available", toolCallId, output: output ?? content ?? null });
  }

  #rewind(toSeq: number): void {
    const { state } = this;
    if (state.lastSeq <= toSeq) return;
    const isWithinStep = toSeq < state.stepSeq && toSeq >= state.closedSeq;
    if (!isWithinStep) return this.#end([restartedChunk()], "error");
    Object.assign(state, {
      part: undefined,
      isAnswered: false,
      stepSeq: 0,
      lastSeq: state.closedSeq,
      calls: NO_CALLS,
    });
    this.#say({ type: "reset-step" });
  }

  #completed({ finish_reason: reason, usage }: Said<"generation.completed">): void {
    this.#end([], toUiFinishReason(reason), { usage: toUiUsage(usage), finishReason: reason });
  }

  /**
   * The end is in a step without calls: if a page's last step consists only of answered calls, the page sends them by itself, and a stop would begin
   * another run. The AI SDK's own word for this, `interrupted`, is an error to earlier releases, including `WorkflowChatTransport`.
   */
  #cancelled({ seq, reason, usage }: Said<"generation.cancelled">): void {
    this.#closePart();
    this.state.isAnswered ||= this.state.calls.size > 0;
    this.#open(seq);
    this.#end([{ type: "abort", reason }], "other", { usage: toUiUsage(usage), finishReason: "cancelled" });
  }

  #end(
    before: readonly UiChunk[],
    finishReason: Extract<UiChunk, { type: "finish" }>["finishReason"],
    messageMetadata?: Extract<UiChunk, { type: "finish" }>["messageMetadata"],
  ): void {
    this.#begin();
    this.#closePart();
    for (const chunk of before) this.#say(chunk);
    if (this.state.inStep) this.#say({ type: "finish-step" });
    this.#say({ type: "finish", finishReason, ...(messageMetadata && { messageMetadata }) });
    this.frames.push(DONE);
    this.state.end = this.frames.slice(-2);
  }
}

/** A timeout that the policy ends in order, an answer without the form that was asked for, and what a later version adds are `other`. */
function toUiFinishReason(
  reason: FinishReason,
): "stop" | "length" | "content-filter" | "tool-calls" | "other" {
  switch (reason) {
    case "stop":
    case "length":
      return reason;
    case "content_filter":
      return "content-filter";
    case "tool_calls":
      return "tool-calls";
    default:
      return "other";
  }
}

function toUiUsage({
  input_tokens: input,
  output_tokens: output,
  cached_input_tokens: cached,
  reasoning_tokens: reasoning,
}: Usage): UiUsage {
  const inputTokens = input ?? undefined;
  const less = (all: number | undefined, part: number | undefined) =>
    all === undefined || part === undefined ? undefined : all - part;
  return {
    inputTokens,
    inputTokenDetails: {
      noCacheTokens: less(inputTokens, cached),
      cacheReadTokens: cached,
      cacheWriteTokens: undefined,
    },
    outputTokens: output,
    outputTokenDetails: { textTokens: less(output, reasoning), reasoningTokens: reasoning },
    totalTokens: inputTokens === undefined ? undefined : inputTokens + output,
  };
}
