import type { JsonValue } from "@reprise/protocol";
import type { Fit } from "../fit.ts";
import type { JsonObject } from "../json-type.ts";
import type { Validation } from "../validation.ts";

export interface Place {
  /** In which the keyword stands. */
  readonly schema: JsonObject;
  readonly validation: Validation;
  /** Of a schema within it. */
  readonly check: (schema: JsonValue | undefined, value: JsonValue, validation: Validation) => Fit;
}

/**
 * What one keyword of a schema says about a value; true for a value that it does not speak of. What the keyword is set to comes from a
 * tenant as it is: where it is no valid setting the answer is undefined.
 */
export type Keyword = (setting: JsonValue, value: JsonValue, place: Place) => Fit;

/** For keywords that this validator leaves open, wherever they stand. */
export const leftOpen: Keyword = () => undefined;
