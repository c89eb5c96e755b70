import * as z from "zod";

/**
 * A client's name for a run, a thread, a chat or a message. A lone surrogate has no UTF-8 form of its own: two names would become one.
 * @param most UTF-16 code units
 */
export function clientName(most: number) {
  return z
    .string()
    .min(1)
    .max(most)
    .refine((name) => name.isWellFormed(), { error: "must be well-formed text, without lone surrogates" });
}
