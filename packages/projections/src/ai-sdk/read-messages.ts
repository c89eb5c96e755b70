import type { AssistantTurn, ContentPart, Message, ReasoningItem, ToolAnswer } from "@reprise/protocol";
import { readFilePart } from "./read-file-part.ts";
import {
  parsePart,
  reasoningPartSchema,
  refusedField,
  steeringPartSchema,
  textPartSchema,
  toolPartSchema,
  type UiMessage,
  type UiPart,
} from "./request-schema.ts";

/** Which forms of earlier reasoning the model can be given back. */
export interface TakenReasoning {
  readonly text: boolean;
  readonly sealed: boolean;
}

export interface ReadMessages {
  readonly input: readonly Message[];
  /** By the index in `input`: the field of the body that it was made of. */
  readonly places: readonly string[];
}

/**
 * The messages of a chat as a model is given them. A message of the assistant is as many turns as it has steps, each followed by the answers of
 * its tools. Parts that are the page's own, and calls that have no answer, are left out, as the README's table says.
 * @throws RepriseError `invalid_request` that names the part
 */
export function readMessages(messages: readonly UiMessage[], taken: TakenReasoning): ReadMessages {
  const input: Message[] = [];
  const places: string[] = [];
  for (const [i, message] of messages.entries()) {
    const path = `messages.${i}`;
    for (const item of readMessage(message, path, taken)) {
      input.push(item);
      places.push(path);
    }
  }
  if (input.length === 0) throw refusedField("messages", "hold nothing that a model can be given");
  return { input, places };
}

function readMessage(message: UiMessage, path: string, taken: TakenReasoning): Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: textOf(message.parts, path) }];
    case "user":
      return [readUserMessage(message.parts, path)];
    case "assistant":
      return readAssistantMessage(message.parts, path, taken);
  }
}

function textOf(parts: readonly UiPart[], path: string): string {
  return parts
    .map((part, i) =>
      part.type === "text" ? parsePart(textPartSchema, part, `${path}.parts.${i}`).text : "",
    )
    .join("");
}

function readUserMessage(parts: readonly UiPart[], path: string): Message {
  const content = parts.flatMap((part, i) => readUserPart(part, `${path}.parts.${i}`));
  const [first] = content;
  if (!first) throw refusedField(`${path}.parts`, "hold nothing that a model can be given");
  const isText = content.length === 1 && first.type === "text";
  return { role: "user", content: isText ? first.text : content };
}

type UserPart = Exclude<ContentPart, { type: "refusal" }>;

function readUserPart(part: UiPart, path: string): UserPart[] {
  if (part.type === "text") return [{ type: "text", text: parsePart(textPartSchema, part, path).text }];
  if (part.type === "file") return [readFilePart(part, path)];
  if (isOfPage(part)) return [];
  throw refusedField(`${path}.type`, `a user's message has no part of the type ${JSON.stringify(part.type)}`);
}

/** True for parts that pages and other models keep in messages, and that no model is given. */
function isOfPage({ type }: UiPart): boolean {
  return type.startsWith("data-") || type === "step-start" || IGNORED.has(type);
}

/** Ignored parts of the assistant: its media, the sources of its text, and additions by other providers. */
const IGNORED: ReadonlySet<string> = new Set([
  "file",
  "reasoning-file",
  "source-url",
  "source-document",
  "custom",
]);

function readAssistantMessage(parts: readonly UiPart[], path: string, taken: TakenReasoning): Message[] {
  const items: Message[] = [];
  let step = new StepReader(taken);
  const endStep = () => {
    items.push(...step.items());
    step = new StepReader(taken);
  };
  for (const [i, part] of parts.entries()) {
    const at = `${path}.parts.${i}`;
    if (part.type === "step-start") endStep();
    else if (part.type === "steering-message") {
      endStep();
      items.push(readUserMessage(parsePart(steeringPartSchema, part, at).parts, at));
    } else step.add(part, at);
  }
  endStep();
  return items;
}

type Call = NonNullable<AssistantTurn["tool_calls"]>[number];

/** One step of a message: a turn of the model. */
class StepReader {
  readonly #taken: TakenReasoning;
  readonly #reasoning: ReasoningItem[] = [];
  #summary: string[] = [];
  #text: string | undefined;
  readonly #calls: Call[] = [];
  readonly #answers: ToolAnswer[] = [];

  constructor(taken: TakenReasoning) {
    this.#taken = taken;
  }

  add(part: UiPart, path: string): void {
    if (part.type === "text") this.#text = (this.#text ?? "") + parsePart(textPartSchema, part, path).text;
    else if (part.type === "reasoning") this.#addReasoning(part, path);
    else if (part.type === "dynamic-tool" || part.type.startsWith("tool-")) this.#addCall(part, path);
    else if (!isOfPage(part))
      throw refusedField(
        `${path}.type`,
        `an assistant's message has no part of the type ${JSON.stringify(part.type)}`,
      );
  }

  items(): Message[] {
    const text = this.#text === "" ? undefined : this.#text;
    if (text === undefined && this.#calls.length === 0) return [];
    return [
      {
        role: "assistant",
        ...(text !== undefined && { content: text }),
        ...(this.#reasoning.length > 0 && { reasoning: this.#reasoning }),
        ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
      },
      ...this.#answers,
    ];
  }

  #addReasoning(part: UiPart, path: string): void {
    const { text, providerMetadata } = parsePart(reasoningPartSchema, part, path);
    const { encrypted, id, summary = false } = providerMetadata?.reprise ?? {};
    if (summary && text !== "") this.#summary.push(text);
    if (encrypted !== undefined && this.#taken.sealed) {
      const told = this.#summary.length > 0 ? { summary: this.#summary } : {};
      this.#reasoning.push({ encrypted, ...(id !== undefined && { id }), ...told });
      this.#summary = [];
    } else if (!summary && text !== "" && this.#taken.text) this.#reasoning.push({ text });
  }

  #addCall(part: UiPart, path: string): void {
    const tool = parsePart(toolPartSchema, part, path);
    const answer = answerOf(tool);
    if (answer === undefined) return;
    const name = part.type === "dynamic-tool" ? tool.toolName : part.type.slice("tool-".length);
    if (!name) throw refusedField(`${path}.toolName`, "must name a tool");
    this.#calls.push({ call_id: tool.toolCallId, name, arguments: argumentsOf(tool) });
    this.#answers.push({ role: "tool", call_id: tool.toolCallId, output: answer });
  }
}

type ToolPart = ReturnType<typeof toolPartSchema.parse>;

/** Undefined for a call that waits for its answer, or whose answer is not the last word. */
function answerOf(tool: ToolPart): ToolAnswer["output"] | undefined {
  switch (tool.state) {
    case "output-available":
      // What is no JSON is refused with the native request.
      return tool.preliminary ? undefined : ((tool.output ?? null) as NonNullable<ToolAnswer["output"]>);
    case "output-error":
      return tool.errorText ?? "The tool has failed.";
    case "output-denied":
      return deniedText(tool);
    case "approval-responded":
      return tool.approval?.approved === false ? deniedText(tool) : undefined;
    default:
      return undefined;
  }
}

function deniedText({ approval }: ToolPart): string {
  return approval?.reason ?? "The call was denied.";
}

/** For a call that was refused because its arguments are not JSON: the text that the model wrote. */
function argumentsOf({ state, input, rawInput }: ToolPart): string {
  const said = input ?? rawInput;
  return state === "output-error" && typeof said === "string" ? said : JSON.stringify(said ?? {});
}
