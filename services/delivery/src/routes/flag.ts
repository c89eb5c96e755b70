import * as z from "zod";

/** A query parameter that is `true` or `false`; `false` where it is absent. */
export const booleanParam = z
  .enum(["true", "false"])
  .prefault("false")
  .transform((value) => value === "true");
