import type * as z from "zod";

interface Variable<T> {
  readonly schema: z.ZodType<T, string>;
  readonly meaning: string;
}

/** `fallback` is what the variable is when it is not set, written as one would set it; without one its value is undefined. */
export interface OptionalVariable<T> extends Variable<T> {
  readonly fallback: undefined;
}
export interface DefaultedVariable<T> extends Variable<T> {
  readonly fallback: string;
}

export function optional<T>(schema: z.ZodType<T, string>, meaning: string): OptionalVariable<T> {
  return { schema, fallback: undefined, meaning };
}

export function defaulted<T>(
  fallback: string,
  schema: z.ZodType<T, string>,
  meaning: string,
): DefaultedVariable<T> {
  return { schema, fallback, meaning };
}
