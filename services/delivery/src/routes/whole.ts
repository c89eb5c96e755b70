import * as z from "zod";

/** A query parameter that is a whole number. */
export function integerParam(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error });
}
