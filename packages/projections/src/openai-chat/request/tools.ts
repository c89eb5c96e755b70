import { LIMITS, type ResponseFormat, type Tool, type ToolChoice } from "@reprise/protocol";
import * as z from "zod";
import { optional } from "./optional.ts";

const FUNCTION_ONLY = { error: "must be function: custom tools are not supported" };

/** The native request's parser checks names, descriptions and schemas. */
export const chatToolsSchema = z
  .array(
    z.strictObject({
      type: z.literal("function", FUNCTION_ONLY),
      function: z.strictObject({
        name: z.string(),
        description: optional(z.string()),
        parameters: optional(z.record(z.string(), z.json())),
        strict: optional(z.boolean()),
      }),
    }),
  )
  .max(LIMITS.tools);

export function toTool({ function: tool }: z.infer<typeof chatToolsSchema>[number]): Tool {
  const { name, description, parameters, strict } = tool;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(strict !== undefined && { strict }),
  };
}

export const chatToolChoiceSchema = z.union(
  [
    z.enum(["auto", "none", "required"]),
    z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: z.string() }) }),
  ],
  { error: "must be auto, none, required, or {type: function, function: {name}}" },
);

export function toToolChoice(choice: z.infer<typeof chatToolChoiceSchema>): ToolChoice {
  return typeof choice === "string" ? choice : { name: choice.function.name };
}

export const chatFormatSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.enum(["text", "json_object"]) }),
    z.strictObject({
      type: z.literal("json_schema"),
      json_schema: z.strictObject({
        name: z.string(),
        description: optional(z.string()),
        schema: z.record(z.string(), z.json(), { error: "must be a JSON schema" }),
        strict: optional(z.boolean()),
      }),
    }),
  ],
  { error: "must be {type: text | json_object | json_schema, …}" },
);

export function toResponseFormat(format: z.infer<typeof chatFormatSchema>): ResponseFormat {
  if (format.type !== "json_schema") return { type: format.type };
  const { name, description, schema, strict } = format.json_schema;
  return {
    type: "json_schema",
    name,
    ...(description !== undefined && { description }),
    schema,
    ...(strict !== undefined && { strict }),
  };
}
