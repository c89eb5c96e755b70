import * as z from "zod";
import { countValues, jsonObjectSchema } from "../../json-object.ts";
import { LIMITS } from "./limits.ts";
import { functionName } from "./tools.ts";

/** The form of the answer: any text, any JSON object, or JSON that fits a schema. */
export const responseFormatSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("text") }),
    z.strictObject({ type: z.literal("json_object") }),
    z.strictObject({
      type: z.literal("json_schema"),
      /** What the model is told that it is. Default `response`. */
      name: functionName.optional(),
      description: z.string().max(LIMITS.schemaDescriptionLength).optional(),
      schema: jsonObjectSchema(LIMITS.schemaDepth).refine(
        (schema) => countValues(schema) <= LIMITS.schemaValues,
        { error: `must have at most ${LIMITS.schemaValues} values` },
      ),
      /** Whether the answer must fit, and not only should. Default: as the engine has it. */
      strict: z.boolean().optional(),
    }),
  ],
  { error: "must be {type: text | json_object | json_schema, …}" },
);

export type ResponseFormat = z.infer<typeof responseFormatSchema>;

/** What an engine is told of a schema without a name: most want one. */
export const DEFAULT_FORMAT_NAME = "response";
