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
      /** Name of the format, as the model is given it. Default `response`. */
      name: functionName.optional(),
      description: z.string().max(LIMITS.schemaDescriptionLength).optional(),
      schema: jsonObjectSchema(LIMITS.schemaDepth).refine(
        (schema) => countValues(schema) <= LIMITS.schemaValues,
        { error: `must have at most ${LIMITS.schemaValues} values` },
      ),
      /** True if the answer must fit; false if it only should. Default: the engine's. */
      strict: z.boolean().optional(),
    }),
  ],
  { error: "must be {type: text | json_object | json_schema, …}" },
);

export type ResponseFormat = z.infer<typeof responseFormatSchema>;

/** Name that an engine is given for a schema without one: most need a name. */
export const DEFAULT_FORMAT_NAME = "response";
