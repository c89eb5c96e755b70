import * as z from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../json-object.ts";
import { assertHistory } from "./assert-history.ts";
import { assertSchemaPatterns } from "./patterns/assert-schema-patterns.ts";
import { type ConversationId, isConversationId } from "./conversation-id.ts";
import { type GenerationId, isGenerationId } from "../id.ts";
import { END_USER_RULE, isEndUser } from "./end-user.ts";
import { isMediaPart, userPartSchema } from "./fields/content-part.ts";
import { inputSchema } from "./fields/input.ts";
import { inputFormatSchema } from "./fields/input-format.ts";
import { LIMITS } from "./fields/limits.ts";
import { responseFormatSchema } from "./fields/response-format.ts";
import { samplingFields } from "./fields/sampling.ts";
import { PRIORITIES, priorityOf, SERVICE_TIERS } from "./fields/priority.ts";
import { callIdSchema, TOOL_CALL_ANSWERS, toolChoiceSchema, toolsSchema } from "./fields/tools.ts";
import { isModelName, MODEL_NAME_RULE } from "./model-name.ts";
import { policySchema } from "./policy.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/** Amount of reasoning before the model answers; the engine decides which values a model accepts. */
const reasoningSchema = z.strictObject({
  effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  /** Most tokens of reasoning. */
  max_tokens: z.int().min(1).max(LIMITS.outputTokens).optional(),
  /** Form of the reasoning's summary. */
  summary: z.enum(["auto", "concise", "detailed"]).optional(),
});

const modelSchema = z.string().refine(isModelName, { error: MODEL_NAME_RULE });

export const metadataSchema = z
  .record(z.string(), z.string().max(LIMITS.metadataValueLength))
  .refine(
    (pairs) => Object.keys(pairs).every((key) => key.length >= 1 && key.length <= LIMITS.metadataKeyLength),
    {
      error: `must have keys of 1 to ${LIMITS.metadataKeyLength} characters`,
    },
  )
  .refine((pairs) => Object.keys(pairs).length <= LIMITS.metadataPairs, {
    error: `must have at most ${LIMITS.metadataPairs} pairs`,
  });

export const generationRequestSchema = z.strictObject({
  model: modelSchema,
  input: inputSchema,
  /** Input that clients append while the generation runs, in this format. In a body it is `input: {stream: {format}}`. */
  input_stream: z.strictObject({ format: inputFormatSchema }).optional(),
  /** Whose next turn it is: its model is given what was said before, and then `input`. */
  conversation: z
    .custom<ConversationId>(isConversationId, { error: "must be a conversation's id" })
    .optional(),
  /** The turn of the conversation that it follows. Default: the last. */
  previous_generation: z
    .custom<GenerationId>(isGenerationId, { error: "must be a generation's id" })
    .optional(),
  max_output_tokens: z.int().min(1).max(LIMITS.outputTokens).optional(),
  ...samplingFields,
  stop: z.array(z.string().min(1).max(LIMITS.stopLength)).min(1).max(LIMITS.stopSequences).optional(),
  seed: z.int().min(0).max(LIMITS.seed).optional(),
  /** Functions that the model may ask for. */
  tools: toolsSchema.optional(),
  /** Default `auto`. */
  tool_choice: toolChoiceSchema.optional(),
  /** True if the model may make several calls at once. Default: the engine's. */
  parallel_tool_calls: z.boolean().optional(),
  /** `wait` (default): each call waits for its answer. `end`: the generation ends with its calls, and a further request answers them. */
  tool_calls: z.enum(TOOL_CALL_ANSWERS).optional(),
  /** Default: any text. */
  response_format: responseFormatSchema.optional(),
  reasoning: reasoningSchema.optional(),
  /** Length of the answer. Default: the engine's. */
  verbosity: z.enum(["low", "medium", "high"]).optional(),
  /** Handed to the engine, which has a schema of its own for it. */
  options: jsonObjectSchema(LIMITS.optionsDepth).optional(),
  metadata: metadataSchema.optional(),
  /** A pseudonym of the person whom the request is about: what the audit log erases by. */
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  /** Whose generation it is, for stream tokens that are bound to an end user. */
  end_user: z.string().refine(isEndUser, { error: END_USER_RULE }).optional(),
  /** The priority in the words of OpenAI's API. */
  service_tier: z.enum(SERVICE_TIERS).optional(),
  policy: policySchema.optional(),
  /** Priority for a slot among its tenant's generations. Default `interactive`. The last field, because a tier adds it after the others. */
  priority: z.enum(PRIORITIES).optional(),
});

export type GenerationRequest = z.infer<typeof generationRequestSchema>;

/**
 * The body of `POST /v1/generations`.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param` and what it must be
 */
export function parseGenerationRequest(body: unknown): GenerationRequest {
  const request = parseWith(generationRequestSchema, hasInputStream(body) ? fromStreamed(body) : body);
  const { input, conversation, previous_generation: previous } = request;
  if (input.length === 0 && !request.input_stream)
    throw refused(
      "input",
      `must be a text that is not empty, or 1 to ${LIMITS.messages} messages {role, content}`,
    );
  if (request.input_stream && conversation !== undefined)
    throw refused("conversation", "can't be sent with an input that is streamed");
  if (previous !== undefined && conversation === undefined)
    throw refused("previous_generation", "needs conversation");
  // A turn may answer calls of the turns before it, which only its conversation knows.
  if (typeof input !== "string") assertHistory(input, { isContinued: conversation !== undefined });
  assertToolsFit(request);
  const { response_format: format } = request;
  if (format?.type === "json_schema") assertSchemaPatterns(format.schema, "response_format.schema");
  return request.service_tier === undefined ? request : withPriority(request, request.service_tier);
}

const streamedSchema = z.looseObject({
  input: z.strictObject({ stream: z.strictObject({ format: inputFormatSchema }) }),
  input_stream: z.undefined({ error: "is not a known field" }).optional(),
});

function hasInputStream(body: unknown): boolean {
  const { input, input_stream: stream } = Object(body) as { input?: unknown; input_stream?: unknown };
  return stream !== undefined || (typeof input === "object" && input !== null && !Array.isArray(input));
}

function fromStreamed(body: unknown): unknown {
  const { input, ...fields } = parseWith(streamedSchema, body);
  return { ...fields, input: [], input_stream: input.stream };
}

/** Throws if fields about tools are set without tools, or name tools that are missing. */
function assertToolsFit({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: GenerationRequest): void {
  if (choice === undefined && parallel === undefined) return;
  if (tools === undefined) {
    throw refused(choice === undefined ? "parallel_tool_calls" : "tool_choice", "needs tools");
  }
  if (typeof choice === "object" && !tools.some(({ name }) => name === choice.name)) {
    throw refused("tool_choice.name", "names no function of tools");
  }
}

/** Sets the priority that the tier gives. Code after the parser reads the priority alone. */
function withPriority(
  request: GenerationRequest,
  tier: NonNullable<GenerationRequest["service_tier"]>,
): GenerationRequest {
  const priority = priorityOf(tier);
  if (priority === undefined) return request;
  if (request.priority !== undefined && request.priority !== priority) {
    throw refused(
      "service_tier",
      `${tier} stands for the priority ${priority}, and priority says ${request.priority}`,
    );
  }
  return { ...request, priority };
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}

/** A reference in a tool's answer must be a blob: no URL is fetched while a generation waits. */
const answerPart = userPartSchema.refine(
  (part) => !isMediaPart(part) || part.url === undefined || part.url.startsWith("data:"),
  { path: ["url"], error: "must be a data URL; upload other content, and name its blob" },
);
const isShortAnswer = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).length <= LIMITS.toolOutputBytes;
const LONG_ANSWER = { error: `must take at most ${LIMITS.toolOutputBytes} bytes as JSON` };

const toolResultSchema = z
  .strictObject({
    call_id: callIdSchema,
    output: jsonValueSchema(LIMITS.toolOutputDepth).refine(isShortAnswer, LONG_ANSWER).optional(),
    content: z.array(answerPart).min(1).refine(isShortAnswer, LONG_ANSWER).optional(),
  })
  .refine(({ output, content }) => (output === undefined) !== (content === undefined), {
    path: ["output"],
    error: "must be there, or content in its place",
  });

/** The answer to one `tool.call`. */
export type ToolResult = z.infer<typeof toolResultSchema>;

/**
 * The body of `POST /v1/generations/{id}/tool-results`.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param` and what it must be
 */
export function parseToolResult(body: unknown): ToolResult {
  return parseWith(toolResultSchema, body);
}

/**
 * Reports one problem: elements after the first wrong one are not parsed. zod would describe half a million wrong elements for seconds, or overflow the stack
 * as it gathers them. The option is meant for `validate` alone, which names no problem; a test of delivery (`fuzz/hostile-shapes`) fails if a later zod drops
 * it.
 */
const FIRST_PROBLEM: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/**
 * Validates untrusted input against a schema.
 * @param root what to call the value as a whole
 * @throws RepriseError `invalid_request` with the path of the first problem in `param`
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, root = "body"): T {
  const result = schema.safeParse(value, FIRST_PROBLEM);
  if (result.success) return result.data;
  // A parse that fails has at least one issue.
  const issue = innermost(result.error.issues[0]!);
  const unknownKey = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue.path, ...(unknownKey === undefined ? [] : [unknownKey])].join(".") || root;
  const problem = unknownKey === undefined ? issue.message : "is not a known field";
  throw new RepriseError("invalid_request", `${path}: ${problem}`, { param: path });
}

type Issue = z.core.$ZodIssue;

/** For a value that may have several forms, and has none: returns the problem inside the form that it comes closest to, with its whole path. */
function innermost(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue;
  const [deepest] = issue.errors
    .flatMap(([first]) => (first ? [innermost(first)] : []))
    .filter(({ path }) => path.length > 0)
    .toSorted((a, b) => b.path.length - a.path.length);
  return deepest ? { ...deepest, path: [...issue.path, ...deepest.path] } : issue;
}

/**
 * The value of an `Idempotency-Key` header: 1 to 255 visible ASCII characters.
 * @throws RepriseError `invalid_request`
 */
export function parseIdempotencyKey(value: unknown): string {
  if (
    typeof value === "string" &&
    value.length <= LIMITS.idempotencyKeyLength &&
    /^[\x21-\x7e]+$/.test(value)
  )
    return value;
  throw new RepriseError(
    "invalid_request",
    `Idempotency-Key must be 1 to ${LIMITS.idempotencyKeyLength} visible ASCII characters.`,
    { param: "Idempotency-Key" },
  );
}
