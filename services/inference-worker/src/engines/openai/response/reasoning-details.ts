import { LIMITS } from "@reprise/protocol";
import type { SealedEvent, SummaryEvent } from "../../engine.ts";

/** The content of `reasoning_details`. */
export interface ReasoningDetails {
  /** The reasoning that is text. */
  readonly text: string;
  readonly thoughts: readonly (SummaryEvent | SealedEvent)[];
}

/** An event has room for no more. */
const MAX_SEALED = 262_144;

const NONE: ReasoningDetails = { text: "", thoughts: [] };

/**
 * A delta's `reasoning_details`, as gateways have them: `{type: "reasoning.summary", summary, index?}`, `{type: "reasoning.encrypted", data, id?}`,
 * `{type: "reasoning.text", text}`. A sealed one above 256 KiB is left out: half of one is none. So is an `id` that no request could hand back. They are the form in which a request hands them back.
 * @param reasoning the delta's own text of the reasoning: gateways repeat summaries there, for clients that know no others
 */
export function toReasoningDetails(value: unknown, reasoning: string): ReasoningDetails {
  if (!Array.isArray(value) || value.length === 0) return NONE;
  const thoughts: (SummaryEvent | SealedEvent)[] = [];
  let text = "";
  for (const one of value as unknown[]) {
    if (typeof one !== "object" || one === null) continue;
    const { type, summary, data, id, index, text: said } = one as Record<string, unknown>;
    if (type === "reasoning.summary" && isText(summary)) {
      const part = Number.isSafeInteger(index) && (index as number) > 0 ? { part: index as number } : {};
      thoughts.push({
        type: "summary",
        text: summary,
        ...part,
        ...(reasoning !== "" && { isReasoning: true }),
      });
    } else if (type === "reasoning.encrypted" && isText(data) && data.length <= MAX_SEALED) {
      const isId = isText(id) && id.length <= LIMITS.toolCallIdLength;
      thoughts.push({ type: "sealed", encrypted: data, ...(isId && { id }) });
    } else if (type === "reasoning.text" && isText(said)) text += said;
  }
  return { text, thoughts };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
