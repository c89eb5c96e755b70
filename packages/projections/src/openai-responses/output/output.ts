import type { GenerationId, KnownEvent, UnknownEvent } from "@reprise/protocol";
import type { Sealed } from "../sealed.ts";
import { Growing } from "../../growing.ts";
import { type Item, type ItemStatus, toItemId, type CallItem, type Step } from "./items.ts";
import {
  addRefusal,
  addText,
  annotate,
  closeMessage,
  type OpenMessage,
  openMessage,
  toMessageItem,
  turnTo,
} from "./message.ts";
import {
  addThought,
  closeReasoning,
  type OpenReasoning,
  openReasoning,
  sealedReasoning,
  toReasoningItem,
} from "./reasoning.ts";

/** The content of a log so far, as the items of a response. An immutable value. */
export interface Output {
  readonly generation: GenerationId;
  /** Items that are done. */
  readonly items: Growing<Item>;
  /** The item that still grows, the last. */
  readonly open: OpenMessage | OpenReasoning | undefined;
  /** Sealed reasoning that came within a message is placed after it: splitting the message in two would make two answers. */
  readonly sealed: readonly Sealed[];
}

/** The result of adding an event to an output. */
export interface Told {
  readonly output: Output;
  readonly steps: readonly Step[];
}

export function emptyOutput(generation: GenerationId): Output {
  return { generation, items: new Growing(), open: undefined, sealed: [] };
}

/** Undefined for an event that adds to no item. How many steps there are depends on types and order alone, never on texts. */
export function tell(output: Output, event: KnownEvent | UnknownEvent): Told | undefined {
  switch (event.type) {
    case "output.delta":
      // A request asks for one output.
      return event.output ? undefined : within(output, "output_text", (open) => addText(open, event));
    case "refusal.delta":
      return within(output, "refusal", (open) => addRefusal(open, event.text));
    case "output.annotation":
      if (event.kind !== "url" && event.kind !== "file") return undefined;
      return within(output, "output_text", (open) => annotate(open, event));
    case "reasoning.delta":
      return think(output, "reasoning", event.text);
    case "reasoning.summary.delta":
      return think(output, `summary ${event.part ?? 0}`, event.text);
    case "reasoning.sealed":
      return seal(output, event);
    case "tool.call": {
      const closed = close(output);
      const { items } = closed.output;
      const id = toItemId("function_call", output.generation, items.length);
      const [item, ...steps] = tellCall(id, items.length, event);
      return {
        output: { ...closed.output, items: items.with(item) },
        steps: [...closed.steps, ...steps],
      };
    }
    default:
      return undefined;
  }
}

/** Ends the item that grows. @param status of that item */
export function close(output: Output, status: ItemStatus = "completed"): Told {
  const { open, sealed, generation } = output;
  if (!open) return { output, steps: [] };
  const [item, ...steps] =
    open.type === "message" ? closeMessage(open, status) : closeReasoning(open, status);
  let items = output.items.with(item);
  for (const one of sealed) {
    const id = toItemId("reasoning", generation, items.length);
    const [thought, ...more] = sealedReasoning(id, items.length, one);
    items = items.with(thought);
    steps.push(...more);
  }
  return { output: { generation, items, open: undefined, sealed: [] }, steps };
}

/** All items, the one that grows as far as it goes. */
export function itemsOf({ items, open }: Output): Item[] {
  const done = items.toArray();
  if (open?.type === "message") done.push(toMessageItem(open, "in_progress"));
  if (open?.type === "reasoning") done.push(toReasoningItem(open, "in_progress"));
  return done;
}

/** Says something in a part of a message, which is begun where there is none. */
function within(
  output: Output,
  type: "output_text" | "refusal",
  say: (open: OpenMessage) => [OpenMessage, ...Step[]],
): Told {
  if (output.open?.type === "message") {
    const [turned, ...turning] = turnTo(output.open, type);
    const [open, ...steps] = say(turned);
    return { output: { ...output, open }, steps: turning.length === 0 ? steps : [...turning, ...steps] };
  }
  const closed = close(output);
  const index = closed.output.items.length;
  const [begun, ...opening] = openMessage(toItemId("message", output.generation, index), index, type);
  const [open, ...steps] = say(begun);
  return { output: { ...closed.output, open }, steps: [...closed.steps, ...opening, ...steps] };
}

function think(output: Output, source: string, text: string): Told {
  if (output.open?.type === "reasoning") {
    const [open, ...steps] = addThought(output.open, source, text);
    return { output: { ...output, open }, steps };
  }
  const closed = close(output);
  const index = closed.output.items.length;
  const id = toItemId("reasoning", output.generation, index);
  const [begun, ...opening] = openReasoning(id, index, source);
  const [open, ...steps] = addThought(begun, source, text);
  return { output: { ...closed.output, open }, steps: [...closed.steps, ...opening, ...steps] };
}

function seal(output: Output, { encrypted, id }: Sealed): Told {
  const { open, items, generation } = output;
  const sealed: Sealed = { encrypted, id };
  if (open?.type === "message")
    return { output: { ...output, sealed: [...output.sealed, sealed] }, steps: [] };
  if (open) {
    const [item, ...steps] = closeReasoning(open, "completed", sealed);
    return { output: { ...output, items: items.with(item), open: undefined }, steps };
  }
  const [item, ...steps] = sealedReasoning(
    toItemId("reasoning", generation, items.length),
    items.length,
    sealed,
  );
  return { output: { ...output, items: items.with(item) }, steps };
}

type ToolCall = Extract<KnownEvent, { type: "tool.call" }>;

/** A call comes whole. */
function tellCall(
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
