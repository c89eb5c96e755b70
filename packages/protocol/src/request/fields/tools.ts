import * as z from "zod";
import { countValues, jsonObjectSchema } from "../../json-object.ts";
import { LIMITS } from "./limits.ts";

/** Function names that the APIs of model servers accept. */
const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const functionName = z
  .string()
  .regex(FUNCTION_NAME, { error: "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -" });

export function isFunctionName(name: string): boolean {
  return FUNCTION_NAME.test(name);
}

const toolSchema = z.strictObject({
  /** The only kind there is. */
  type: z.literal("function").optional(),
  name: functionName,
  description: z.string().max(LIMITS.toolDescriptionLength).optional(),
  /** A JSON schema of the arguments, handed to the engine as it is. */
  parameters: jsonObjectSchema(LIMITS.toolParametersDepth).optional(),
  /** True if the arguments must fit the schema. Default: the engine's. */
  strict: z.boolean().optional(),
});

/** A function that the model may ask for. */
export type Tool = z.infer<typeof toolSchema>;

export const toolsSchema = z
  .array(toolSchema)
  .min(1)
  .max(LIMITS.tools)
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, {
    error: "must not name a function twice",
  })
  .refine((tools) => countValues(tools.map(({ parameters = {} }) => parameters)) <= LIMITS.schemaValues, {
    error: `must have parameters of at most ${LIMITS.schemaValues} values together`,
  });

/** The model's choice of tools: free, none, at least one call, or a call of this function. */
export const toolChoiceSchema = z.union(
  [z.enum(["auto", "none", "required"]), z.strictObject({ name: functionName })],
  { error: "must be auto, none, required, or {name: a function of tools}" },
);
export type ToolChoice = z.infer<typeof toolChoiceSchema>;

/** Policy for a generation whose model calls tools: it waits for the answers, or ends. */
export const TOOL_CALL_ANSWERS = ["wait", "end"] as const;

export const callIdSchema = z.string().min(1).max(LIMITS.toolCallIdLength);
