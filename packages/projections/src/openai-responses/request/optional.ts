import * as z from "zod";

/** True if a field has a value: absent and null are the same. */
export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** The fields of an object that say something. */
export function givenOf(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));
}

/** A field that changes no answer, with any value. */
export const ignored = z.unknown().optional();

/** A field that may be there and say nothing: null, or one of these values. Anything else is refused by the field's name. */
export function only<const Value extends string | boolean>(values: readonly Value[], problem: string) {
  return z
    .custom<Value | null>((value) => value === null || values.includes(value as Value), { error: problem })
    .optional();
}
