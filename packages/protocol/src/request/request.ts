import * as z from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../json-object.ts";
import { END_USER_RULE, isEndUser } from "./end-user.ts";
import { isModelName, MODEL_NAME_RULE } from "./model-name.ts";
import { policySchema } from "./policy.ts";
import { PRIORITIES } from "./priority.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/** Every limit on what a client may send; PROTOCOL.md §4.2 gives the same numbers. Lengths of text are in UTF-16 code units. */
export const LIMITS = {
  bodyBytes: 1_048_576,
  messages: 1_024,
  stopSequences: 4,
  stopLength: 256,
  outputTokens: 1_000_000,
  temperature: 2,
  seed: 2_147_483_647,
  optionsDepth: 32,
  tools: 128,
  toolCallIdLength: 256,
  toolDescriptionLength: 4_096,
  /** How deep a tool's JSON schema and a tool's answer may nest. */
  toolParametersDepth: 32,
  toolOutputDepth: 32,
  /** One tool's answer, as JSON. */
  toolOutputBytes: 262_144,
  metadataPairs: 16,
  metadataKeyLength: 64,
  metadataValueLength: 512,
  subjectLength: 128,
  idempotencyKeyLength: 255,
  cancelReasonLength: 256,
  /** Of one page of events: how many it may hold, and how long in milliseconds it may wait for the first. */
  pageEvents: 1_000,
  pageWaitMs: 30_000,
  pageReviews: 100,
  reviewReplacementLength: 4_096,
  /** One stored event, encoded. A request that is larger once it is validated and re-encoded is refused. */
  eventBytes: 1_572_864,
} as const;

const messageSchema = z.strictObject({
  role: z.enum(["system", "developer", "user", "assistant"]),
  content: z.string(),
});

export type Message = z.infer<typeof messageSchema>;

/** What the APIs of model servers take for the name of a function. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const toolSchema = z.strictObject({
  /** The only kind there is. */
  type: z.literal("function").optional(),
  name: z.string().regex(TOOL_NAME, { error: "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -" }),
  description: z.string().max(LIMITS.toolDescriptionLength).optional(),
  /** A JSON schema of the arguments, handed to the engine as it is. */
  parameters: jsonObjectSchema(LIMITS.toolParametersDepth).optional(),
});

/** A function that the model may ask for. */
export type Tool = z.infer<typeof toolSchema>;

const toolsSchema = z
  .array(toolSchema)
  .min(1)
  .max(LIMITS.tools)
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, {
    error: "must not name a function twice",
  });

const modelSchema = z.string().refine(isModelName, { error: MODEL_NAME_RULE });

const metadataSchema = z
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
  input: z.union([z.string().min(1), z.array(messageSchema).min(1).max(LIMITS.messages)], {
    error: `must be a text that is not empty, or 1 to ${LIMITS.messages} messages {role: system | developer | user | assistant, content: text}`,
  }),
  max_output_tokens: z.int().min(1).max(LIMITS.outputTokens).optional(),
  temperature: z.number().min(0).max(LIMITS.temperature).optional(),
  stop: z.array(z.string().min(1).max(LIMITS.stopLength)).min(1).max(LIMITS.stopSequences).optional(),
  seed: z.int().min(0).max(LIMITS.seed).optional(),
  /** Functions that the model may ask for; each call then waits for its answer. */
  tools: toolsSchema.optional(),
  /** Handed to the engine, which has a schema of its own for it. */
  options: jsonObjectSchema(LIMITS.optionsDepth).optional(),
  metadata: metadataSchema.optional(),
  /** A pseudonym of the person whom the request is about: what the audit log erases by. */
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  /** Whose generation it is, for stream tokens that are bound to an end user. */
  end_user: z.string().refine(isEndUser, { error: END_USER_RULE }).optional(),
  /** Before which of its tenant's generations it gets a slot. Default `interactive`. */
  priority: z.enum(PRIORITIES).optional(),
  policy: policySchema.optional(),
});

export type GenerationRequest = z.infer<typeof generationRequestSchema>;

/**
 * The body of `POST /v1/generations`.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param` and what it must be
 */
export function parseGenerationRequest(body: unknown): GenerationRequest {
  return parseWith(generationRequestSchema, body);
}

const toolResultSchema = z.strictObject({
  call_id: z.string().min(1).max(LIMITS.toolCallIdLength),
  output: jsonValueSchema(LIMITS.toolOutputDepth).refine(
    (output) => new TextEncoder().encode(JSON.stringify(output)).length <= LIMITS.toolOutputBytes,
    { error: `must take at most ${LIMITS.toolOutputBytes} bytes as JSON` },
  ),
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
 * Validates untrusted input against a schema.
 * @param root what to call the value as a whole
 * @throws RepriseError `invalid_request` with the path of the first problem in `param`
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, root = "body"): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  // A parse that fails has at least one issue.
  const issue = result.error.issues[0]!;
  const unknownKey = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue.path, ...(unknownKey === undefined ? [] : [unknownKey])].join(".") || root;
  const problem = unknownKey === undefined ? issue.message : "is not a known field";
  throw new RepriseError("invalid_request", `${path}: ${problem}`, { param: path });
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
