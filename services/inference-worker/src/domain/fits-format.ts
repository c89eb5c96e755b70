import type { GenerationRequest, JsonValue } from "@reprise/protocol";
import { type Fit, fitsSchema } from "../schema/fits-schema.ts";

/** In UTF-16 code units. */
const MAX_ANSWER_LENGTH = 1_048_576;

/** Compares a finished answer with the form that was asked for. */
export function fitsFormat(format: GenerationRequest["response_format"], answer: string): Fit {
  if (format === undefined || format.type === "text") return true;
  if (answer.length > MAX_ANSWER_LENGTH) return undefined;
  const value = parse(answer);
  if (value === undefined) return false;
  if (format.type === "json_schema") return fitsSchema(format.schema, value);
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
