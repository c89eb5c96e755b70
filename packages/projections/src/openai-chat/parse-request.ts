import {
  type GenerationRequest,
  LIMITS,
  type Message,
  parseGenerationRequest,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import * as z from "zod";
import { inChatWords } from "./request/chat-param.ts";
import { messagesSchema, toMessage } from "./request/messages.ts";
import { optional, refusedField } from "./request/optional.ts";
import {
  chatFormatSchema,
  chatToolChoiceSchema,
  chatToolsSchema,
  toResponseFormat,
  toTool,
  toToolChoice,
} from "./request/tools.ts";

/** A field that the native request has under the same name, with the same meaning: its parser checks the value. */
const same = z.unknown().optional();
/** A hint that changes no answer. */
const ignored = z.unknown().optional();

const SAME = [
  "frequency_penalty",
  "logit_bias",
  "metadata",
  "parallel_tool_calls",
  "presence_penalty",
  "seed",
  "temperature",
  "top_p",
  "verbosity",
  "min_p",
  "options",
  "policy",
  "repetition_penalty",
  "top_k",
] as const;

const bodySchema = z.strictObject({
  model: z.unknown(),
  messages: messagesSchema,
  audio: refusedField("is not supported: a model's sound is an output.blob of the native API"),
  frequency_penalty: same,
  function_call: refusedField("is not supported; use tool_choice"),
  functions: refusedField("is not supported; use tools"),
  logit_bias: same,
  logprobs: optional(z.boolean()),
  max_completion_tokens: optional(z.number()),
  max_tokens: optional(z.number()),
  metadata: same,
  modalities: optional(z.tuple([z.literal("text")], { error: "must be [text]" })),
  moderation: refusedField("is not supported: the tenant's policy moderates"),
  n: optional(z.literal(1, { error: "must be 1" })),
  parallel_tool_calls: same,
  prediction: ignored,
  presence_penalty: same,
  prompt_cache_key: ignored,
  prompt_cache_options: ignored,
  prompt_cache_retention: ignored,
  reasoning_effort: optional(z.string()),
  response_format: optional(chatFormatSchema),
  safety_identifier: optional(z.string()),
  seed: same,
  service_tier: optional(
    z.enum(["auto", "default", "flex", "priority", "fast"], {
      error: "must be auto, default, flex, priority or fast",
    }),
  ),
  stop: optional(
    z.union([z.string(), z.array(z.string()).max(LIMITS.stopSequences)], {
      error: `must be a text, or 1 to ${LIMITS.stopSequences} texts`,
    }),
  ),
  store: ignored,
  stream: optional(z.boolean()),
  stream_options: optional(
    z.strictObject({
      include_usage: optional(z.boolean()),
      include_obfuscation: optional(z.boolean()),
    }),
  ),
  temperature: same,
  tool_choice: optional(chatToolChoiceSchema),
  tools: optional(chatToolsSchema),
  top_logprobs: optional(z.number()),
  top_p: same,
  user: optional(z.string()),
  verbosity: same,
  web_search_options: refusedField("is not supported; give the model a tool that searches"),
  // Beyond OpenAI's API.
  min_p: same,
  options: same,
  policy: same,
  repetition_penalty: same,
  top_k: same,
});

type ChatBody = z.infer<typeof bodySchema>;

/** A request of `POST /v1/chat/completions`, and how its answer is to be given. */
export interface ChatRequest {
  readonly request: GenerationRequest;
  /** Chunks as they come, or one JSON body. */
  readonly stream: boolean;
  /** True if a chunk with the usage comes before the end of the stream. */
  readonly includeUsage: boolean;
}

/**
 * The body of `POST /v1/chat/completions` as a native request. A tool call ends the generation: the client answers it with its next request.
 * @param options `keepsReasoning`: whether a model can be handed what it has thought before an answer. Default: each can
 * @throws RepriseError `invalid_request` that names the first wrong field in `param`, as OpenAI's API calls it
 */
export function parseChatRequest(
  body: unknown,
  { keepsReasoning = () => true }: { readonly keepsReasoning?: (model: string) => boolean } = {},
): ChatRequest {
  const fields = parseWith(bodySchema, body);
  const stream = fields.stream ?? false;
  if (fields.stream_options && !stream) throw refused("stream_options", "needs stream");
  try {
    const keeps = typeof fields.model === "string" && keepsReasoning(fields.model);
    const request = parseGenerationRequest(toNative(fields, keeps));
    return { request, stream, includeUsage: fields.stream_options?.include_usage ?? false };
  } catch (error) {
    throw error instanceof RepriseError ? inChatWords(error) : error;
  }
}

function toNative(fields: ChatBody, keepsReasoning: boolean): Record<string, unknown> {
  const { stop, tools, tool_choice: choice, response_format: format, reasoning_effort: effort } = fields;
  const native: Record<string, unknown> = {
    model: fields.model,
    input: fields.messages.map((message) => {
      const said = toMessage(message);
      return keepsReasoning ? said : withoutThoughts(said);
    }),
    max_output_tokens: maxTokensOf(fields),
    logprobs: logprobsOf(fields),
    stop: typeof stop === "string" ? [stop] : stop,
    tools: tools?.map(toTool),
    tool_calls: tools ? "end" : undefined,
    tool_choice: choice && toToolChoice(choice),
    response_format: format && toResponseFormat(format),
    reasoning: effort === undefined ? undefined : { effort },
    // Two names of one tier.
    service_tier: fields.service_tier === "fast" ? "priority" : fields.service_tier,
    end_user: fields.user,
    subject: fields.safety_identifier,
  };
  for (const name of SAME) native[name] = fields[name];
  return Object.fromEntries(Object.entries(native).filter(([, value]) => (value ?? undefined) !== undefined));
}

/** Clients send a message of an answer back as they got it. Thoughts before calls need nothing of the model. */
function withoutThoughts(message: Message): Message {
  if (message.role !== "assistant" || message.tool_calls) return message;
  const { reasoning: _reasoning, ...said } = message;
  return said;
}

function maxTokensOf({ max_completion_tokens: most, max_tokens: older }: ChatBody): number | undefined {
  if (most !== undefined && older !== undefined && most !== older) {
    throw refused("max_tokens", `is ${older}, and max_completion_tokens is ${most}: send one of them`);
  }
  return most ?? older;
}

function logprobsOf({ logprobs, top_logprobs: top }: ChatBody): number | undefined {
  if (logprobs) return top ?? 0;
  if (top !== undefined) throw refused("top_logprobs", "needs logprobs: true");
  return undefined;
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
