import { toEncryptedContent, type Sealed } from "../sealed.ts";
import type { ItemStatus, ReasoningItem, Step } from "./items.ts";

/**
 * Reasoning that the model still makes. It is told as parts of a summary, whether it is the reasoning itself or a summary of it: that is the only
 * form that clients of this API show.
 */
export interface OpenReasoning {
  readonly type: "reasoning";
  readonly id: string;
  readonly index: number;
  readonly parts: readonly string[];
  /** Whose text the last part is: that of the reasoning, or of a part of a summary. */
  readonly source: string;
  readonly text: string;
}

export function openReasoning(id: string, index: number, source: string): [OpenReasoning, ...Step[]] {
  const reasoning: OpenReasoning = { type: "reasoning", id, index, parts: [], source, text: "" };
  return [reasoning, itemAdded(id, index), partAdded(reasoning)];
}

export function addThought(
  reasoning: OpenReasoning,
  source: string,
  text: string,
): [OpenReasoning, ...Step[]] {
  const steps: Step[] = [];
  let open = reasoning;
  if (open.source !== source) {
    open = { ...open, parts: [...open.parts, open.text], source, text: "" };
    steps.push(...partDone(reasoning), partAdded(open));
  }
  steps.push({ type: "response.reasoning_summary_text.delta", ...placeOf(open), delta: text });
  return [{ ...open, text: open.text + text }, ...steps];
}

export function closeReasoning(
  reasoning: OpenReasoning,
  status: ItemStatus,
  sealed?: Sealed,
): [ReasoningItem, ...Step[]] {
  const item = toReasoningItem(reasoning, status, sealed);
  return [item, ...partDone(reasoning), itemDone(item, reasoning.index)];
}

/** Reasoning of which nothing can be read. */
export function sealedReasoning(id: string, index: number, sealed: Sealed): [ReasoningItem, ...Step[]] {
  const item: ReasoningItem = {
    id,
    type: "reasoning",
    status: "completed",
    summary: [],
    ...encryptedOf(sealed),
  };
  return [item, itemAdded(id, index), itemDone(item, index)];
}

export function toReasoningItem(
  { id, parts, text }: OpenReasoning,
  status: ItemStatus,
  sealed?: Sealed,
): ReasoningItem {
  const summary = [...parts, text].map((part) => ({ type: "summary_text" as const, text: part }));
  return { id, type: "reasoning", status, summary, ...(sealed && encryptedOf(sealed)) };
}

/** Nothing of it is left where moderation has withdrawn reasoning. */
function encryptedOf(sealed: Sealed): { encrypted_content?: string } {
  return sealed.encrypted === "" ? {} : { encrypted_content: toEncryptedContent(sealed) };
}

function itemAdded(id: string, index: number): Step {
  const item = { id, type: "reasoning", status: "in_progress", summary: [] };
  return { type: "response.output_item.added", output_index: index, item };
}

function itemDone(item: ReasoningItem, index: number): Step {
  return { type: "response.output_item.done", output_index: index, item };
}

function partAdded(reasoning: OpenReasoning): Step {
  const part = { type: "summary_text", text: "" };
  return { type: "response.reasoning_summary_part.added", ...placeOf(reasoning), part };
}

function partDone(reasoning: OpenReasoning): Step[] {
  const { text } = reasoning;
  const part = { type: "summary_text", text };
  return [
    { type: "response.reasoning_summary_text.done", ...placeOf(reasoning), text },
    { type: "response.reasoning_summary_part.done", ...placeOf(reasoning), part },
  ];
}

function placeOf({ id, index, parts }: OpenReasoning): {
  item_id: string;
  output_index: number;
  summary_index: number;
} {
  return { item_id: id, output_index: index, summary_index: parts.length };
}
