import * as z from "zod";
import { isModelName, MODEL_NAME_RULE } from "./model-name.ts";

/**
 * Policies for a prompt that does not fit the model: `error` refuses the turn, `truncate_oldest` leaves the oldest turns out of its prompt and of all later
 * ones.
 */
export const FULL_POLICIES = ["error", "truncate_oldest"] as const;
export type FullPolicy = (typeof FULL_POLICIES)[number];

const summarizeSchema = z.strictObject({
  policy: z.literal("summarize"),
  /** The public name of the model that is asked. */
  model: z.string().refine(isModelName, { error: MODEL_NAME_RULE }),
});

/** Policy of a conversation: `summarize` replaces the turns that are left out with a model's summary of them. */
export const whenFullSchema = z.union([z.enum(FULL_POLICIES), summarizeSchema], {
  error: `must be ${FULL_POLICIES.map((policy) => `"${policy}"`).join(", ")}, or {policy: "summarize", model}`,
});
export type WhenFull = z.infer<typeof whenFullSchema>;

/** Returns the policy that applies if there is no summary. */
export function fullPolicyOf(whenFull: WhenFull): FullPolicy {
  return typeof whenFull === "string" ? whenFull : "truncate_oldest";
}
