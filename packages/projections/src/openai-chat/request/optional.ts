import * as z from "zod";

/** A field that may be absent, or null for the same. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** A field that cannot be honoured: absent or null, or the request is refused by the field's name. */
export function refusedField(why: string) {
  return z.null({ error: why }).optional();
}
