import * as z from "zod";
import { LIMITS } from "./limits.ts";

/** Amount of reasoning before the model answers; the engine decides which values a model accepts. */
export const reasoningSchema = z.strictObject({
  effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  /** Most tokens of reasoning. */
  max_tokens: z.int().min(1).max(LIMITS.outputTokens).optional(),
  /** Form of the reasoning's summary. */
  summary: z.enum(["auto", "concise", "detailed"]).optional(),
});
