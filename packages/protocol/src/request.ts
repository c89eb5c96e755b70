import * as z from "zod";
import { jsonObjectSchema } from "./json-object.ts";
import { isModelName, MODEL_NAME_RULE } from "./model-name.ts";
import { policySchema } from "./policy.ts";
import { RepriseError } from "./reprise-error.ts";

/** Every limit on what a client may send; PROTOCOL.md §4 gives the same numbers. Lengths of text are in UTF-16 code units. */
export const LIMITS = {
  bodyBytes: 1_048_576,
  messages: 1_024,
  stopSequences: 4,
  stopLength: 256,
  outputTokens: 1_000_000,
  temperature: 2,
  seed: 2_147_483_647,
  optionsDepth: 32,
  metadataPairs: 16,
  metadataKeyLength: 64,
  metadataValueLength: 512,
  idempotencyKeyLength: 255,
  cancelReasonLength: 256,
  /** Of one page of events: how many it may hold, and how long in milliseconds it may wait for the first. */
  pageEvents: 1_000,
  pageWaitMs: 30_000,
  /** One stored event, encoded. A request that is larger once it is validated and re-encoded is refused. */
  eventBytes: 1_572_864,
} as const;

const messageSchema = z.strictObject({
  role: z.enum(["system", "developer", "user", "assistant"]),
  content: z.string(),
});

export type Message = z.infer<typeof messageSchema>;

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
  /** Handed to the engine, which has a schema of its own for it. */
  options: jsonObjectSchema(LIMITS.optionsDepth).optional(),
  metadata: metadataSchema.optional(),
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

/**
 * Validates untrusted input against a schema.
 * @param root what to call the value as a whole
 * @throws RepriseError `invalid_request` with the path of the first problem in `param`
 */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown, root = "body"): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
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
