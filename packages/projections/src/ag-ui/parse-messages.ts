import {
  type AssistantTurn,
  type ContentPart,
  isBlobId,
  type Message,
  RepriseError,
} from "@reprise/protocol";
import type { InputMessage, Part, Source } from "./request-schema.ts";

type ReasoningItem = Extract<AssistantTurn["reasoning"], readonly unknown[]>[number];
type UserPart = Exclude<ContentPart, { type: "refusal" }>;

export interface ParsedMessages {
  readonly input: readonly Message[];
  /** For each message: the index of the client's message that it was made from. */
  readonly origins: readonly number[];
}

/**
 * Converts a client's messages to a native input. Reasoning belongs to the assistant's message after it. An empty assistant's message, which a client has
 * if a run was cut off at its beginning, is left out.
 * @param keepsReasoning true if the model accepts its earlier reasoning
 * @throws RepriseError `invalid_request`, `capability_unsupported`
 */
export function parseMessages(
  messages: readonly InputMessage[],
  { keepsReasoning }: { readonly keepsReasoning: boolean },
): ParsedMessages {
  const input: Message[] = [];
  const origins: number[] = [];
  let thoughts: ReasoningItem[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === "reasoning") {
      if (keepsReasoning) thoughts.push(...toReasoning(message.content, message.encryptedValue));
      continue;
    }
    const parsed = toMessage(message, index, thoughts);
    if (message.role !== "activity") thoughts = [];
    if (!parsed) continue;
    input.push(parsed);
    origins.push(index);
  }
  return { input, origins };
}

function toMessage(
  message: Exclude<InputMessage, { role: "reasoning" }>,
  index: number,
  thoughts: readonly ReasoningItem[],
): Message | undefined {
  switch (message.role) {
    case "activity":
      return undefined;
    case "developer":
    case "system":
      return { role: message.role, content: message.content };
    case "user":
      return { role: "user", content: toContent(message.content, index) };
    case "tool": {
      const { toolCallId: callId, content, error } = message;
      if (typeof content !== "string")
        return { role: "tool", call_id: callId, content: toContent(content, index) as UserPart[] };
      return {
        role: "tool",
        call_id: callId,
        output: content === "" && error !== undefined ? error : content,
      };
    }
    case "assistant": {
      const { content = "", toolCalls = [] } = message;
      if (content === "" && toolCalls.length === 0) return undefined;
      return {
        role: "assistant",
        ...(content !== "" && { content }),
        ...(thoughts.length > 0 && { reasoning: [...thoughts] }),
        ...(toolCalls.length > 0 && {
          tool_calls: toolCalls.map(({ id, function: { name, arguments: args } }) => ({
            call_id: id,
            name,
            arguments: args,
          })),
        }),
      };
    }
  }
}

function toContent(content: string | readonly Part[], index: number): string | UserPart[] {
  if (typeof content === "string") return content;
  return content.map((part, at) => toPart(part, `messages.${index}.content.${at}.source`));
}

function toPart(part: Part, param: string): UserPart {
  if (part.type === "text") return { type: "text", text: part.text };
  const type = part.type === "document" ? "file" : part.type;
  return { type, ...toPlace(part.source, param) };
}

/** A file at a provider is a blob of the platform's: it reaches no other provider's. */
function toPlace(source: Source, param: string): { url: string } | { blob: string } {
  if (source.type === "data") return { url: `data:${source.mimeType};base64,${source.value}` };
  if (source.type === "url") return { url: source.value };
  if (isBlobId(source.value)) return { blob: source.value };
  throw new RepriseError("invalid_request", `${param}.value: must be a blob's id`, {
    param: `${param}.value`,
  });
}

/** The platform's own sealed form, or that of another maker, which only its engine can read. */
function toReasoning(text: string, sealed: string | undefined): ReasoningItem[] {
  const items: ReasoningItem[] = text === "" ? [] : [{ text }];
  if (sealed) items.push(decodeSealed(sealed));
  return items;
}

function decodeSealed(sealed: string): ReasoningItem {
  try {
    const value: unknown = JSON.parse(sealed);
    if (typeof value === "object" && value !== null && "encrypted" in value) {
      const { encrypted, id } = value as { encrypted: unknown; id?: unknown };
      if (typeof encrypted === "string" && encrypted !== "")
        return { encrypted, ...(typeof id === "string" && { id }) };
    }
  } catch {
    // Not the platform's own.
  }
  return { encrypted: sealed };
}
