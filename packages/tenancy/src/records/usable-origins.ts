import { originsSchema } from "./tenant-record.ts";

/**
 * Checks origins that are set. A browser names one origin, as it is: one with a wildcard in it would match no page, while its operator takes it for one
 * that does. A record that has one already is read nevertheless.
 */
export const usableOriginsSchema = originsSchema.superRefine((origins, context) => {
  for (const [i, origin] of origins.entries()) {
    if (!origin.includes("*")) continue;
    const message =
      "must be one whole origin such as https://app.example: a wildcard matches no page, so list each origin";
    context.addIssue({ code: "custom", path: [i], message });
  }
});
