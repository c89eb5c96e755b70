import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { clientName } from "../client-name.ts";

/** The longest id of a chat or a message, in UTF-16 code units. A message's goes into the metadata of its generation. */
const UI_ID_LENGTH = 256;

/** More than a native request has: some hold nothing that a model is given. */
const UI_MESSAGES = 4_096;
/** Maximum parts of one message: it has the parts of each of its steps, and the page's own. */
const UI_PARTS = 8_192;

const idSchema = clientName(UI_ID_LENGTH);
/** Checked with the native request that is made of it. */
const native = z.unknown().optional();

const partsSchema = z.array(z.looseObject({ type: z.string() })).max(UI_PARTS);

const toolSchema = z.strictObject({
  description: z.string().optional(),
  /** A JSON schema, or `jsonSchema(…)` of the AI SDK as JSON. */
  inputSchema: z.record(z.string(), z.unknown()).optional(),
  strict: z.boolean().optional(),
});

/** The body of a chat's request: what `useChat` sends, and beside it what a page adds as `body`. Each field is in the README's table. */
export const chatBodySchema = z.strictObject({
  id: idSchema.optional(),
  messages: z
    .array(
      // What else a message has is the page's own.
      z.looseObject({
        id: idSchema,
        role: z.enum(["system", "user", "assistant"]),
        parts: partsSchema,
      }),
    )
    .min(1)
    .max(UI_MESSAGES),
  trigger: z.enum(["submit-message", "regenerate-message"]).optional(),
  messageId: z.string().optional(),
  model: z.string().optional(),
  instructions: z.string().optional(),
  system: z.string().optional(),
  tools: z.record(z.string(), toolSchema).optional(),
  toolChoice: z
    .union([
      z.enum(["auto", "none", "required"]),
      z.strictObject({ type: z.literal("tool"), toolName: z.string() }),
    ])
    .optional(),
  responseFormat: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text") }),
      z.strictObject({ type: z.literal("json"), schema: native, name: native, description: native }),
    ])
    .optional(),
  reasoning: z.enum(["provider-default", "none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  maxOutputTokens: native,
  temperature: native,
  topP: native,
  topK: native,
  presencePenalty: native,
  frequencyPenalty: native,
  stopSequences: native,
  seed: native,
  metadata: z.record(z.string(), z.unknown()).optional(),
  subject: native,
  end_user: native,
  priority: native,
  policy: native,
  options: native,
});

export type ChatBody = z.infer<typeof chatBodySchema>;
export type UiMessage = ChatBody["messages"][number];
export type UiPart = UiMessage["parts"][number];

/** The fields of `providerMetadata` that a stream of this platform has set. */
const ownMetadata = z.looseObject({
  reprise: z
    .looseObject({
      encrypted: z.string().min(1).optional(),
      id: z.string().optional(),
      summary: z.boolean().optional(),
    })
    .optional(),
});

export const textPartSchema = z.looseObject({ text: z.string() });
export const reasoningPartSchema = z.looseObject({
  text: z.string(),
  providerMetadata: ownMetadata.optional(),
});
export const filePartSchema = z.looseObject({
  mediaType: z.string(),
  url: z.string(),
  filename: z.string().optional(),
  providerReference: z.record(z.string(), z.string()).optional(),
});
export const toolPartSchema = z.looseObject({
  toolCallId: z.string(),
  toolName: z.string().optional(),
  state: z.enum([
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
  ]),
  input: native,
  rawInput: native,
  output: native,
  errorText: z.string().optional(),
  preliminary: z.boolean().optional(),
  approval: z.looseObject({ approved: z.boolean().optional(), reason: z.string().optional() }).optional(),
});
export const steeringPartSchema = z.looseObject({
  parts: partsSchema,
});

/**
 * Parses a part of a message.
 * @param path its place in the body
 * @throws RepriseError `invalid_request` with the place of the first problem in `param`
 */
export function parsePart<T>(schema: z.ZodType<T>, part: UiPart, path: string): T {
  const result = schema.safeParse(part);
  if (result.success) return result.data;
  // A parse that fails has at least one issue.
  const issue = result.error.issues[0]!;
  throw refusedField([path, ...issue.path].join("."), issue.message);
}

export function refusedField(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
