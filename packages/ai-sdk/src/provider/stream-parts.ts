import type { LanguageModelV4StreamPart, SharedV4Warning } from "@ai-sdk/provider";
import { RepriseError, type StreamEvent } from "@reprise/client";
import { isUntold, toSourceChunk } from "@reprise/projections/wire";
import { PROVIDER } from "./provider-name.ts";
import { toFinishReason, toUsage, UNKNOWN_USAGE } from "./usage.ts";

type Said<Type extends StreamEvent["type"]> = Extract<StreamEvent, { type: Type }>;
type Part = LanguageModelV4StreamPart;
type Finish = Extract<Part, { type: "finish" }>;

/** In the place of a call's arguments that moderation has withdrawn: no JSON, so that no function is run with it. */
const WITHDRAWN = "[withdrawn]";

/** Message of the error when `streamText` can't retract what it has shown. */
const RESTARTED =
  "The generation began again, and what was streamed of it no longer counts. Read it again, or choose a policy that continues from what there is.";

/**
 * A generation's events as the parts of the AI SDK's streams: text and reasoning between a start and an end, calls, sources, and `finish`. The parts can't
 * retract anything: a rewind over sent parts ends them with an error.
 */
export class StreamParts {
  readonly #warnings: SharedV4Warning[];
  #open: { readonly kind: "text" | "reasoning"; readonly id: string; readonly of: string } | undefined;
  #lastSeq = 0;
  #hasEnded = false;
  readonly #idOf: () => string | undefined;

  /** @param idOf the generation's id, once an event of it has come */
  constructor(warnings: SharedV4Warning[], idOf: () => string | undefined) {
    this.#warnings = warnings;
    this.#idOf = idOf;
  }

  begin(): Part[] {
    return [{ type: "stream-start", warnings: this.#warnings }];
  }

  /** True if the end of the generation was sent. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  tell(event: StreamEvent): Part[] {
    if (this.#hasEnded || isUntold(event)) return [];
    switch (event.type) {
      case "generation.started":
        return [{ type: "response-metadata", ...this.#identity(), modelId: event.model }];
      case "output.delta":
        return event.output ? [] : this.#delta(event, "text", "text");
      case "refusal.delta":
        return this.#delta(event, "text", "refusal");
      case "reasoning.delta":
        return this.#delta(event, "reasoning", "reasoning");
      case "reasoning.summary.delta":
        return this.#delta(event, "reasoning", `summary ${event.part ?? 0}`);
      case "reasoning.sealed":
        return this.#seal(event);
      case "output.annotation":
        return this.#source(event);
      case "tool.call":
        return this.#call(event);
      case "output.rewind":
        if (this.#lastSeq <= event.to_seq) return [];
        return this.#fail(new RepriseError("engine_failed", RESTARTED), UNKNOWN_USAGE);
      case "generation.completed":
        return this.#end([], {
          finishReason: toFinishReason(event.finish_reason),
          usage: toUsage(event.usage),
        });
      case "generation.failed": {
        const { code, message, retryable } = event.error;
        return this.#fail(
          new RepriseError(code as RepriseError["code"], message, { retryable }),
          toUsage(event.usage),
        );
      }
      case "generation.cancelled":
        return this.#end([], {
          finishReason: { unified: "other", raw: "cancelled" },
          usage: toUsage(event.usage),
        });
      default:
        return [];
    }
  }

  #identity(): { id?: string } {
    const id = this.#idOf();
    return id === undefined ? {} : { id };
  }

  #delta({ seq, text }: { seq: number; text: string }, kind: "text" | "reasoning", of: string): Part[] {
    this.#lastSeq = seq;
    const before: Part[] = [];
    if (this.#open?.of !== of) {
      before.push(...this.#close());
      this.#open = { kind, of, id: `${kind}-${seq}` };
      // What tells reasoning in short is not handed back as reasoning.
      const metadata = of.startsWith("summary") && { providerMetadata: { [PROVIDER]: { summary: true } } };
      before.push({ type: `${kind}-start`, id: this.#open.id, ...metadata });
    }
    return [...before, { type: `${kind}-delta`, id: this.#open.id, delta: text }];
  }

  #close(metadata?: Readonly<Record<string, string | true>>): Part[] {
    const open = this.#open;
    if (!open) return [];
    this.#open = undefined;
    const sealed = metadata && { providerMetadata: { [PROVIDER]: metadata } };
    return [{ type: `${open.kind}-end`, id: open.id, ...sealed }];
  }

  /** Ends the reasoning that it is the sealed form of. `providerMetadata.reprise` goes back with the next request. */
  #seal({ seq, encrypted, id }: Said<"reasoning.sealed">): Part[] {
    const started =
      this.#open?.kind === "reasoning" ? [] : this.#delta({ seq, text: "" }, "reasoning", "reasoning");
    this.#lastSeq = seq;
    // Where moderation has withdrawn it nothing is left.
    if (encrypted === "") return [...started, ...this.#close()];
    const summary = this.#open?.of.startsWith("summary") && { summary: true as const };
    const sealed = { ...summary, encrypted, ...(id !== undefined && { id }) };
    return [...started, ...this.#close(sealed)];
  }

  /** Same as in the platform's own UI stream: a source that is not a web link is a document, so that pages do not link to it. */
  #source(event: Said<"output.annotation">): Part[] {
    const chunk = toSourceChunk(event as Parameters<typeof toSourceChunk>[0]);
    if (chunk?.type === "source-url") {
      const { type: _type, sourceId: id, ...said } = chunk;
      this.#lastSeq = event.seq;
      return [{ type: "source", sourceType: "url", id, ...said }];
    }
    if (chunk?.type === "source-document") {
      const { type: _type, sourceId: id, ...said } = chunk;
      this.#lastSeq = event.seq;
      return [{ type: "source", sourceType: "document", id, ...said }];
    }
    return [];
  }

  #call(event: Said<"tool.call">): Part[] {
    const { seq, call_id: id, name: toolName, arguments: said } = event;
    this.#lastSeq = seq;
    // A function without parameters may be called without arguments. Where moderation has left none, it must not be: the SDK refuses what is no JSON, and
    // takes "" for {}.
    const input = said !== "" ? said : "redacted" in event ? WITHDRAWN : "{}";
    return [
      ...this.#close(),
      { type: "tool-input-start", id, toolName },
      { type: "tool-input-delta", id, delta: said },
      { type: "tool-input-end", id },
      { type: "tool-call", toolCallId: id, toolName, input },
    ];
  }

  #fail(error: RepriseError, usage: Finish["usage"]): Part[] {
    return this.#end([{ type: "error", error }], {
      finishReason: { unified: "error", raw: error.code },
      usage,
    });
  }

  #end(before: Part[], finish: Omit<Finish, "type">): Part[] {
    this.#hasEnded = true;
    return [...this.#close(), ...before, { type: "finish", ...finish }];
  }
}
