import * as z from "zod";
import { jsonObjectSchema, type JsonValue, jsonValueSchema } from "../../json-object.ts";
import { assistantPartSchema, type ContentPart, textPartSchema, userPartSchema } from "./content-part.ts";
import { LIMITS } from "./limits.ts";
import { callIdSchema, functionName } from "./tools.ts";

const systemMessage = z.strictObject({
  role: z.enum(["system", "developer"]),
  content: z.union([z.string(), z.array(textPartSchema).min(1)], {
    error: "must be a text, or parts {type: text, text}",
  }),
});

const userMessage = z.strictObject({
  role: z.literal("user"),
  content: z.union([z.string(), z.array(userPartSchema).min(1)], {
    error: "must be a text, or parts {type: text | image | audio | file, …}",
  }),
});

/** A call that a model has made. `arguments` is its text: not necessarily JSON. */
const callSchema = z.strictObject({
  call_id: callIdSchema,
  name: functionName,
  arguments: z.string(),
  /** The `provider_state` of the call's event. */
  provider_state: jsonObjectSchema(LIMITS.providerStateDepth)
    .refine((state) => jsonBytes(state) <= LIMITS.providerStateBytes, {
      error: `must take at most ${LIMITS.providerStateBytes} bytes as JSON`,
    })
    .optional(),
});

/** A model's reasoning before a turn, as an engine has given it: its text, or a sealed form that only this engine can read, to be handed back unchanged. */
const reasoningItem = z.union(
  [
    z.strictObject({ text: z.string() }),
    z.strictObject({
      encrypted: z.string().min(1),
      id: z.string().min(1).max(LIMITS.toolCallIdLength).optional(),
      summary: z.array(z.string()).optional(),
    }),
  ],
  { error: "must be {text}, or {encrypted, id?, summary?}" },
);

/** A model's output in an earlier turn. */
const assistantTurn = z
  .strictObject({
    role: z.literal("assistant"),
    content: z
      .union([z.string(), z.array(assistantPartSchema).min(1)], {
        error: "must be a text, or parts {type: text | refusal, …}",
      })
      .optional(),
    reasoning: z
      .union([z.string(), z.array(reasoningItem).min(1)], { error: "must be a text, or items" })
      .optional(),
    tool_calls: z.array(callSchema).min(1).max(LIMITS.tools).optional(),
  })
  .refine(({ content, tool_calls: calls }) => content !== undefined || calls !== undefined, {
    error: "must have content or tool_calls",
  });

/** The answer to a call of an earlier turn: a JSON value, or parts. */
const toolAnswer = z
  .strictObject({
    role: z.literal("tool"),
    call_id: callIdSchema,
    output: jsonValueSchema(LIMITS.toolOutputDepth).optional(),
    content: z.array(userPartSchema).min(1).optional(),
  })
  .refine(({ output, content }) => (output === undefined) !== (content === undefined), {
    error: "must have one of output and content",
  });

/** One message of a conversation with a model. */
export const messageSchema = z.discriminatedUnion(
  "role",
  [userMessage, assistantTurn, systemMessage, toolAnswer],
  {
    error: "must have a role: system, developer, user, assistant or tool",
  },
);

export type Message = z.infer<typeof messageSchema>;
export type AssistantTurn = z.infer<typeof assistantTurn>;
export type ToolAnswer = z.infer<typeof toolAnswer>;
export type ReasoningItem = z.infer<typeof reasoningItem>;

export const inputSchema = z.union(
  [
    z.string().min(1),
    z.array(messageSchema).max(LIMITS.messages, { error: `must hold 1 to ${LIMITS.messages} messages` }),
  ],
  { error: `must be a text that is not empty, or 1 to ${LIMITS.messages} messages {role, content}` },
);

/** Every content part of an input, with its path from the request on. */
export function* partsOf(input: string | readonly Message[]): Generator<{
  readonly part: ContentPart;
  readonly path: string;
}> {
  if (typeof input === "string") return;
  for (const [i, { content }] of input.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [j, part] of content.entries()) yield { part, path: `input.${i}.content.${j}` };
  }
}

/** The texts of a message that a person or a model may read, in order, without media. */
export function textsOf(message: Message): string[] {
  const { role, content } = message;
  const texts = typeof content === "string" ? [content] : (content ?? []).flatMap(textOfPart);
  if (role === "tool" && message.output !== undefined) texts.push(toOutputText(message.output));
  if (role !== "assistant") return texts;
  const { reasoning = [], tool_calls: calls = [] } = message;
  const thoughts = typeof reasoning === "string" ? [{ text: reasoning }] : reasoning;
  return [
    ...thoughts.flatMap((item) => ("text" in item ? [item.text] : [])),
    ...texts,
    ...calls.flatMap(({ name, arguments: args }) => [name, args]),
  ];
}

/** A tool's answer as the text that engines are given: a text as it is, anything else as JSON. */
export function toOutputText(output: JsonValue): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** Counts the bytes that a value takes as JSON. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

function textOfPart(part: ContentPart): string[] {
  if (part.type === "text") return [part.text];
  return part.type === "refusal" ? [part.refusal] : [];
}
