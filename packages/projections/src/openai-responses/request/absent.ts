import * as z from "zod";

/** A field that changes no answer, with any value. */
export const ignored = z.unknown().optional();

/** A field that may be there and say nothing: null, or one of these values. Anything else is refused by the field's name. */
export function only<const Value extends string | boolean>(values: readonly Value[], problem: string) {
  return z
    .custom<Value | null>((value) => value === null || values.includes(value as Value), { error: problem })
    .optional();
}
