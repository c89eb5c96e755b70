import { type GenerationRequest, isMediaPart, partsOf, textsOf } from "@reprise/protocol";
import { GEN_AI, type SpanAttributes } from "@reprise/runtime/telemetry";
import type { ToolCallEvent } from "../../engines/engine.ts";
import type { SaidEvent } from "../turn/run-engine.ts";

type Part =
  | { readonly type: "text" | "reasoning"; readonly content: string }
  | Readonly<{ type: "tool_call"; id: string | undefined; name: string; arguments: string }>;

/** The limit of each kind of content; spans have no longer values. */
const MAX_CHARS = 16_384;

/**
 * The input and output of one turn in the form of OpenTelemetry's GenAI conventions. Made only if the operator has enabled that:
 * no other span, and no log line, has a word of a prompt or an output.
 */
export class TurnContent {
  #reasoning = "";
  #text = "";

  said(event: SaidEvent): void {
    if (event.type === "sealed" || event.type === "media") return;
    const { type, text } = event;
    if (type === "reasoning" || type === "summary") this.#reasoning = append(this.#reasoning, text);
    else this.#text = append(this.#text, text);
  }

  /** Returns the attributes of the request, without answers of tools and the output of earlier attempts. */
  static ofRequest({ input }: Pick<GenerationRequest, "input">): SpanAttributes {
    const messages = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
    const parts = messages.map((message) => ({ role: message.role, parts: partsIn(message) }));
    return { [GEN_AI.inputMessages]: JSON.stringify(parts) };
  }

  ofAnswer(calls: readonly ToolCallEvent[]): SpanAttributes {
    const parts: Part[] = [
      ...(this.#reasoning === "" ? [] : [{ type: "reasoning", content: this.#reasoning } as const]),
      ...(this.#text === "" ? [] : [{ type: "text", content: this.#text } as const]),
      ...calls.map(({ callId, name, arguments: given }) => ({
        type: "tool_call" as const,
        id: callId,
        name,
        arguments: given,
      })),
    ];
    return { [GEN_AI.outputMessages]: JSON.stringify([{ role: "assistant", parts }]) };
  }
}

/** Texts whole; of media only what they are. */
function partsIn(message: Exclude<GenerationRequest["input"], string>[number]): object[] {
  const media = [...partsOf([message])].flatMap(({ part }) =>
    isMediaPart(part) ? [{ type: "blob", modality: part.type }] : [],
  );
  return [...textsOf(message).map((content) => ({ type: "text", content })), ...media];
}

function append(text: string, more: string): string {
  return text.length < MAX_CHARS ? text + more : text;
}
