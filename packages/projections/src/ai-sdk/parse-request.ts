import {
  type Capability,
  type GenerationRequest,
  parseGenerationRequest,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import { renamedError } from "../renamed-error.ts";
import { type ChatPlaces, toChatParam } from "./errors.ts";
import { readMessages } from "./read-messages.ts";
import { type ChatBody, chatBodySchema, refusedField } from "./request-schema.ts";

/** Metadata of a generation that continues an assistant's message: that message's id. */
export const MESSAGE_ID_METADATA = "ai_sdk.message_id";

/** The models that a chat's request is parsed against, in addition to its body. */
export interface UiModels {
  /** The tenant's models. If there is only one, a request without a model gets it. */
  readonly models: readonly string[];
  /** True if a model is known to have a capability. */
  readonly takes: (model: string, capability: Capability) => boolean;
}

/** A request of a chat, read. */
export interface UiCall {
  readonly request: GenerationRequest;
  /** The chat's id; undefined for a transport that sends none. */
  readonly chat: string | undefined;
  /** True if the same messages were sent again; each time this is a new run. */
  readonly isRegeneration: boolean;
  /** The assistant's message that the answer continues; undefined for a new one. */
  readonly messageId: string | undefined;
  /** An error about the native request, about the field of the body. */
  readonly inChatTerms: (error: unknown) => unknown;
}

/**
 * The body that `useChat` sends, as a native request.
 * @throws RepriseError `invalid_request` that names the field of the body
 */
export function parseUiRequest(value: unknown, { models, takes }: UiModels): UiCall {
  const body = parseWith(chatBodySchema, value);
  const model = body.model ?? onlyOne(models);
  const taken = { text: takes(model, "reasoning_history"), sealed: takes(model, "encrypted_reasoning") };
  const { input, places } = readMessages(body.messages, taken);
  const instructions = instructionsOf(body);
  const messageId = continuedMessage(body);
  const tools = toTools(body);
  const at: ChatPlaces = {
    messages: instructions === undefined ? places : ["instructions", ...places],
    tools: tools?.map(({ name }) => name) ?? [],
  };
  const inChatTerms = (error: unknown) => toChatError(error, at);
  const native = {
    model,
    input: instructions === undefined ? input : [{ role: "system", content: instructions }, ...input],
    max_output_tokens: body.maxOutputTokens,
    temperature: body.temperature,
    top_p: body.topP,
    top_k: body.topK,
    presence_penalty: body.presencePenalty,
    frequency_penalty: body.frequencyPenalty,
    stop: body.stopSequences,
    seed: body.seed,
    tools,
    tool_choice: toToolChoice(body.toolChoice),
    tool_calls: tools && "end",
    response_format: toResponseFormat(body.responseFormat),
    reasoning:
      body.reasoning === undefined || body.reasoning === "provider-default"
        ? undefined
        : { effort: body.reasoning },
    options: body.options,
    metadata:
      messageId === undefined ? body.metadata : { ...body.metadata, [MESSAGE_ID_METADATA]: messageId },
    subject: body.subject,
    end_user: body.end_user,
    policy: body.policy,
    priority: body.priority,
  };
  return {
    request: inTerms(inChatTerms, () => parseGenerationRequest(withoutAbsent(native))),
    chat: body.id,
    isRegeneration: body.trigger === "regenerate-message",
    messageId,
    inChatTerms,
  };
}

function onlyOne(models: readonly string[]): string {
  const [only, ...others] = models;
  if (only !== undefined && others.length === 0) return only;
  throw refusedField(
    "model",
    `must name one of the ${models.length} models; a page sends it as useChat's body: { model }`,
  );
}

function instructionsOf({ instructions, system }: ChatBody): string | undefined {
  if (instructions !== undefined && system !== undefined)
    throw refusedField("system", "says the same as instructions: send one of them");
  return instructions ?? system;
}

/** Where the last message is the assistant's, its page shows the answer in that message. */
function continuedMessage({ messages, trigger }: ChatBody): string | undefined {
  const last = messages.at(-1);
  return last?.role === "assistant" && trigger !== "regenerate-message" ? last.id : undefined;
}

function toTools({ tools }: ChatBody): { name: string }[] | undefined {
  if (!tools || Object.keys(tools).length === 0) return undefined;
  return Object.entries(tools).map(([name, { inputSchema, description, strict }]) =>
    withoutAbsent({ name, description, parameters: inputSchema && toSchema(inputSchema, name), strict }),
  );
}

/** The AI SDK's `jsonSchema()` as JSON has the schema as a field. What a validator's own schema becomes as JSON is none. */
function toSchema(schema: Record<string, unknown>, tool: string): unknown {
  if ("jsonSchema" in schema) return schema["jsonSchema"];
  if ("def" in schema || "_def" in schema || "~standard" in schema)
    throw refusedField(
      `tools.${tool}.inputSchema`,
      "must be a JSON schema, such as z.toJSONSchema() makes of zod's",
    );
  return schema;
}

function toToolChoice(choice: ChatBody["toolChoice"]): unknown {
  return typeof choice === "object" ? { name: choice.toolName } : choice;
}

function toResponseFormat(format: ChatBody["responseFormat"]): unknown {
  if (format?.type !== "json") return format;
  const { schema, name, description } = format;
  if (schema === undefined) return { type: "json_object" };
  return withoutAbsent({ type: "json_schema", schema, name, description });
}

function withoutAbsent<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

function inTerms<T>(inChatTerms: (error: unknown) => unknown, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw inChatTerms(error);
  }
}

function toChatError(error: unknown, places: ChatPlaces): unknown {
  return error instanceof RepriseError ? renamedError(error, (param) => toChatParam(param, places)) : error;
}
