import { type AssistantTurn, type JsonObject, LIMITS, type Message } from "@reprise/protocol";
import * as z from "zod";
import {
  assistantContentSchema,
  textContentSchema,
  toAssistantPart,
  toTextContent,
  toUserContent,
  userContentSchema,
} from "./content.ts";
import { optional, refusedField } from "./optional.ts";

/** No engine is told a participant's name apart from the text. */
const name = refusedField("cannot be told to the model; write the participant's name into the content");

const systemMessage = z.strictObject({
  role: z.enum(["system", "developer"]),
  content: textContentSchema,
  name,
});

const userMessage = z.strictObject({ role: z.literal("user"), content: userContentSchema, name });

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal("function", { error: "must be function: custom tools are not supported" }),
  function: z.strictObject({
    name: z.string(),
    arguments: z.string(),
    /** Added by the client package to an answer that it has parsed. */
    parsed_arguments: z.unknown().optional(),
  }),
  /** The place in a stream, which some clients keep. */
  index: z.int().optional(),
  /** State that the model server asks to get back with the call. */
  extra_content: z.unknown().optional(),
});

/** A message of an answer may be sent back as it is: what the answer adds for people is no part of the history. */
const assistantMessage = z.strictObject({
  role: z.literal("assistant"),
  content: optional(assistantContentSchema),
  refusal: optional(z.string()),
  reasoning: optional(z.string()),
  reasoning_content: optional(z.string()),
  tool_calls: optional(z.array(toolCall).max(LIMITS.tools)),
  annotations: z.unknown().optional(),
  parsed: z.unknown().optional(),
  audio: refusedField("is not supported; send what was said as text"),
  function_call: refusedField("is not supported; use tool_calls"),
  name,
});

const toolMessage = z.strictObject({
  role: z.literal("tool"),
  tool_call_id: z.string(),
  content: userContentSchema,
});

export const messagesSchema = z
  .array(
    z.discriminatedUnion("role", [userMessage, assistantMessage, systemMessage, toolMessage], {
      error: "must have a role: system, developer, user, assistant or tool",
    }),
  )
  .max(LIMITS.messages, { error: `must hold 1 to ${LIMITS.messages} messages` });

type ChatMessage = z.infer<typeof messagesSchema>[number];

/** One native message for each, in the same place. */
export function toMessage(message: ChatMessage): Message {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: message.role, content: toTextContent(message.content) };
    case "user":
      return { role: "user", content: toUserContent(message.content) };
    case "assistant":
      return toAssistantTurn(message);
    case "tool": {
      const content = toUserContent(message.content);
      const callId = message.tool_call_id;
      return typeof content === "string"
        ? { role: "tool", call_id: callId, output: content }
        : { role: "tool", call_id: callId, content };
    }
  }
}

function toAssistantTurn(message: Extract<ChatMessage, { role: "assistant" }>): AssistantTurn {
  const content = toContent(message);
  const reasoning = message.reasoning ?? message.reasoning_content ?? "";
  const calls = message.tool_calls ?? [];
  return {
    role: "assistant",
    ...(content !== undefined && { content }),
    ...(reasoning !== "" && { reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, function: { name: called, arguments: args }, extra_content: state }) => ({
        call_id: id,
        name: called,
        arguments: args,
        // The native request's parser checks it.
        ...((state ?? undefined) !== undefined && { provider_state: state as JsonObject }),
      })),
    }),
  };
}

/** OpenAI's API has a refusal beside the content, the native request within it. */
function toContent({
  content,
  refusal,
}: Extract<ChatMessage, { role: "assistant" }>): AssistantTurn["content"] {
  const parts = typeof content === "string" ? content : content?.map(toAssistantPart);
  if (!refusal) return parts;
  const said = typeof parts === "string" ? [{ type: "text" as const, text: parts }] : (parts ?? []);
  return [...said.filter((part) => part.type !== "text" || part.text !== ""), { type: "refusal", refusal }];
}
