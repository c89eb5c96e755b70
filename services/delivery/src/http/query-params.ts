import * as z from "zod";

/** No query parameters. */
export const noQuery = z.strictObject({});

/** A query parameter that is `true` or `false`; `false` where it is absent. */
export const booleanParam = z
  .enum(["true", "false"])
  .prefault("false")
  .transform((value) => value === "true");

/** A query parameter that is a time. */
export const timeParam = z.iso.datetime({ error: "must be a time in UTC, such as 2026-11-21T02:00:00Z" });

/** A query parameter that is a whole number. */
export function integerParam(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error });
}
