import * as z from "zod";
import { isModelName, MODEL_NAME_RULE } from "./model-name.ts";

/**
 * What becomes of a prompt that does not fit the model: `error` refuses the turn, `truncate_oldest` leaves the oldest turns out of its
 * prompt and of all later ones.
 */
export const FULL_POLICIES = ["error", "truncate_oldest"] as const;
export type FullPolicy = (typeof FULL_POLICIES)[number];

const summarizeSchema = z.strictObject({
  policy: z.literal("summarize"),
  /** The public name of the model that is asked. */
  model: z.string().refine(isModelName, { error: MODEL_NAME_RULE }),
});

/** What a conversation says: `summarize` has in the place of the turns that are left out what a model sums them up to. */
export const whenFullSchema = z.union([z.enum(FULL_POLICIES), summarizeSchema], {
  error: `must be ${FULL_POLICIES.map((policy) => `"${policy}"`).join(", ")}, or {policy: "summarize", model}`,
});
export type WhenFull = z.infer<typeof whenFullSchema>;

/** What it comes to where there is no summary. */
export function fullPolicyOf(whenFull: WhenFull): FullPolicy {
  return typeof whenFull === "string" ? whenFull : "truncate_oldest";
}
