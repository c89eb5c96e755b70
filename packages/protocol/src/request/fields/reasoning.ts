import * as z from "zod";
import { LIMITS } from "./limits.ts";

/** How much the model thinks before it answers; which of these a model knows is its engine's to say. */
export const reasoningSchema = z.strictObject({
  effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  /** At most so many tokens of reasoning. */
  max_tokens: z.int().min(1).max(LIMITS.outputTokens).optional(),
  /** Whether the reasoning is told in short. */
  summary: z.enum(["auto", "concise", "detailed"]).optional(),
});
