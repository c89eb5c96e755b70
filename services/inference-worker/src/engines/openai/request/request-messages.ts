import {
  type AssistantTurn,
  type GenerationRequest,
  toMessages,
  toOutputText,
  toTurnMessages,
} from "@reprise/protocol";
import type { EngineRequest, Progress } from "../../engine.ts";
import type { MessageForm } from "../dialect-form.ts";
import { toContent } from "./request-content.ts";
import { withUniqueCallIds } from "./unique-call-ids.ts";

type Message = Exclude<GenerationRequest["input"], string>[number];
type Call = NonNullable<AssistantTurn["tool_calls"]>[number];

/** A message of a chat completion's request. */
export interface RequestMessage {
  readonly role: Message["role"];
  readonly content: string | object[] | null;
  readonly [field: string]: unknown;
}

/** Returns the conversation that the model is to continue: the input, the turns that tools have answered, and the prefix. */
export function toRequestMessages(
  request: EngineRequest,
  { turns, prefix }: Progress,
  form: MessageForm,
): RequestMessage[] {
  const messages = withUniqueCallIds([...toMessages(request.input), ...toTurnMessages(turns)]);
  let thinks = false;
  const sent = messages.map((message) => {
    if (message.role !== "assistant" || !message.tool_calls) return fromMessage(message, form);
    // A model that thinks may have thought nothing before a call, and DeepSeek refuses a call without the field.
    const { reasoning = thinks ? "" : undefined } = message;
    thinks = reasoning !== undefined;
    return fromMessage({ ...message, reasoning }, form);
  });
  return [...sent, ...(prefix.text === "" ? [] : [{ role: "assistant", content: prefix.text } as const])];
}

/** True if the conversation ends with a message of the assistant. */
export function endsWithAssistant({ input }: EngineRequest): boolean {
  return typeof input !== "string" && input.at(-1)?.role === "assistant";
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

function toToolCall({ call_id: id, name, arguments: args, provider_state: state }: Call): object {
  return {
    id,
    type: "function",
    function: { name, arguments: args },
    ...(state && { extra_content: state }),
  };
}
