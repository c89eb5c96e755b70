import type { GenerationRequest, JsonValue } from "@reprise/protocol";
import { isJsonObject } from "../schema/json-type.ts";
import type { Fit } from "../schema/fit.ts";
import { fitsSchema } from "../schema/fits-schema.ts";

/** Of an answer, in UTF-16 code units. */
const MAX_ANSWER_LENGTH = 1_048_576;

/** Whether an answer that a model has finished has the form that was asked for. Undefined: that is not certain, or would cost too much. */
export function fitsFormat(format: GenerationRequest["response_format"], answer: string): Fit {
  if (format === undefined || format.type === "text") return true;
  if (answer.length > MAX_ANSWER_LENGTH) return undefined;
  const value = parse(answer);
  if (value === undefined) return false;
  return format.type === "json_object" ? isJsonObject(value) : fitsSchema(format.schema, value);
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
