import type { KnownEvent } from "@reprise/protocol";
import type { CallItem } from "./items.ts";
import type { Step } from "./step.ts";

type ToolCall = Extract<KnownEvent, { type: "tool.call" }>;

/** A call comes whole. */
export function tellCall(
  id: string,
  index: number,
  { call_id, name, arguments: text }: ToolCall,
): [CallItem, ...Step[]] {
  const item: CallItem = { id, type: "function_call", status: "completed", call_id, name, arguments: text };
  const place = { item_id: id, output_index: index };
  return [
    item,
    {
      type: "response.output_item.added",
      output_index: index,
      item: { ...item, status: "in_progress", arguments: "" },
    },
    { type: "response.function_call_arguments.delta", ...place, delta: text },
    { type: "response.function_call_arguments.done", ...place, arguments: text },
    { type: "response.output_item.done", output_index: index, item },
  ];
}
