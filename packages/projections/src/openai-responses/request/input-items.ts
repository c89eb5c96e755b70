import { LIMITS } from "@reprise/protocol";
import * as z from "zod";
import { ignored, only } from "./optional.ts";
import { contentSchema } from "./content-parts.ts";

/** Fields of an item that a request does not need. */
const own = { id: ignored, status: ignored };

const message = z.strictObject({
  type: z.literal("message"),
  role: z.enum(["user", "assistant", "system", "developer"], {
    error: "must be user, assistant, system or developer",
  }),
  content: contentSchema,
  phase: ignored,
  ...own,
});

const call = z.strictObject({
  type: z.literal("function_call"),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  async: only([false], "is not supported"),
  caller: ignored,
  namespace: only([], "is not supported"),
  ...own,
});

const answer = z.strictObject({
  type: z.literal("function_call_output"),
  call_id: z.string(),
  output: contentSchema,
  caller: ignored,
  name: ignored,
  namespace: only([], "is not supported"),
  ...own,
});

const texts = z.array(z.looseObject({ text: z.string() })).max(LIMITS.parts);

const reasoning = z.strictObject({
  type: z.literal("reasoning"),
  summary: texts.nullish(),
  content: texts.nullish(),
  encrypted_content: z.string().nullish(),
  ...own,
});

const reference = z.strictObject({ type: z.literal("item_reference"), id: z.string(), status: ignored });

const itemSchema = z.discriminatedUnion("type", [message, call, answer, reasoning, reference], {
  error:
    "must be an item of the type message, function_call, function_call_output, reasoning or item_reference",
});

export type InputItem = z.infer<typeof itemSchema>;

export const inputSchema = z.union(
  [
    z.string(),
    z
      .array(z.preprocess(withType, itemSchema))
      .min(1)
      .max(LIMITS.messages, { error: `must hold 1 to ${LIMITS.messages} items` }),
  ],
  { error: `must be a text, or 1 to ${LIMITS.messages} items` },
);

/** The type of a message, and of a reference, may be left out. */
function withType(item: unknown): unknown {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
  const { type } = item as { type?: unknown };
  if (type !== undefined && type !== null) return item;
  return { ...item, type: "role" in item ? "message" : "item_reference" };
}
