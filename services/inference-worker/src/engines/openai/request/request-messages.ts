import {
  type AssistantTurn,
  type GenerationRequest,
  type JsonValue,
  type OutputItem,
  toOutputText,
} from "@reprise/protocol";
import type { EngineRequest, Progress } from "../../engine.ts";
import type { MessageForm } from "../dialect-form.ts";
import { toContent } from "./request-content.ts";

type Message = Exclude<GenerationRequest["input"], string>[number];
type ToolCallItem = Extract<OutputItem, { type: "tool_call" }>;

/** A message of a chat completion's request. */
export interface RequestMessage {
  readonly role: Message["role"];
  readonly content: string | object[] | null;
  readonly [field: string]: unknown;
}

/** What the model said and asked for in one run, and what the tools answered, by the id of the call. */
interface Turn {
  text: string;
  readonly calls: ToolCallItem[];
  readonly outputs: Map<string, JsonValue>;
}

/** The conversation that the model is to go on with: the input, the turns that tools have answered, and the prefix. */
export function toRequestMessages(
  request: EngineRequest,
  { turns, prefix }: Progress,
  form: MessageForm,
): RequestMessage[] {
  return [
    ...toInput(request, form),
    ...toTurns(turns).flatMap(fromTurn),
    ...(prefix.text === "" ? [] : [{ role: "assistant", content: prefix.text } as const]),
  ];
}

/** Whether the conversation ends with the assistant's own words. */
export function endsWithAssistant({ input }: EngineRequest): boolean {
  return typeof input !== "string" && input.at(-1)?.role === "assistant";
}

function toInput({ input }: EngineRequest, form: MessageForm): RequestMessage[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return input.map((message) => fromMessage(message, form));
}

function fromMessage(message: Message, form: MessageForm): RequestMessage {
  switch (message.role) {
    case "system":
    case "developer":
    case "user":
      return { role: message.role, content: toContent(message.content, form) };
    case "tool": {
      const { call_id: id, output, content } = message;
      const answer = content ? toContent(content, form) : toOutputText(output ?? null);
      return { role: "tool", tool_call_id: id, content: answer };
    }
    case "assistant":
      return fromAssistant(message, form);
  }
}

function fromAssistant(
  { content, reasoning, tool_calls: calls }: AssistantTurn,
  form: MessageForm,
): RequestMessage {
  const said = content === undefined ? null : toContent(content, form);
  const thoughts = reasoning === undefined ? {} : form.reasoning(reasoning, said);
  return {
    role: "assistant",
    content: said,
    ...thoughts,
    ...(calls && { tool_calls: calls.map(toToolCall) }),
  };
}

function toToolCall({ call_id: id, name, arguments: args }: Omit<ToolCallItem, "type">): object {
  return { id, type: "function", function: { name, arguments: args } };
}

/**
 * The answer to a model's first call may stand in the log before its second call. A call belongs to the turn before it while that
 * has one without an answer.
 */
function toTurns(items: readonly OutputItem[]): Turn[] {
  const turns: Turn[] = [];
  for (const item of items) {
    let turn = turns.at(-1);
    if (turn === undefined || isAnswered(turn)) {
      turn = { text: "", calls: [], outputs: new Map() };
      turns.push(turn);
    }
    if (item.type === "text") turn.text += item.text;
    else if (item.type === "tool_call") turn.calls.push(item);
    else turn.outputs.set(item.call_id, item.output);
  }
  return turns;
}

function isAnswered({ calls, outputs }: Turn): boolean {
  return calls.length > 0 && calls.every(({ call_id }) => outputs.has(call_id));
}

/** The answers in the order of the calls, whichever tool was first: some models' templates count on it. */
function fromTurn({ text, calls, outputs }: Turn): RequestMessage[] {
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    },
    ...calls.flatMap(({ call_id: id }): RequestMessage[] => {
      const output = outputs.get(id);
      return output === undefined ? [] : [{ role: "tool", tool_call_id: id, content: toOutputText(output) }];
    }),
  ];
}
