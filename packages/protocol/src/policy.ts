import * as z from "zod";

/** What to do when a worker died in the middle of a generation, from the most to the least permissive. */
export const WORKER_LOSS_ANSWERS = ["continue", "restart", "fail"] as const;

/**
 * How a generation is to be treated. Both a tenant and a request may hold one; the stricter of each field applies.
 * Fields that this version does not act on are refused, never ignored.
 */
export const policySchema = z.strictObject({
  /** How many workers may have a try at the generation, 1 to 10. Default 3. */
  max_attempts: z.int().min(1).max(10).optional(),
  /** `continue` from the exact prefix where the engine can, else `restart` visibly; or `restart` always; or `fail`. Default `continue`. */
  on_worker_loss: z.enum(WORKER_LOSS_ANSWERS).optional(),
  /** A reader's absence never ends a generation. */
  on_disconnect: z.literal("keep").optional(),
});

/** A policy in which nothing is left open. */
export const effectivePolicySchema = policySchema.required();

export type Policy = z.infer<typeof policySchema>;
export type EffectivePolicy = z.infer<typeof effectivePolicySchema>;

export const DEFAULT_POLICY: EffectivePolicy = {
  max_attempts: 3,
  on_worker_loss: "continue",
  on_disconnect: "keep",
};

/**
 * The policy that applies when a tenant says one thing and a request another: field by field, the stricter of the two. A
 * default stands only where neither says anything.
 */
export function tightenPolicy(tenant: Policy, request: Policy): EffectivePolicy {
  const attempts = [tenant.max_attempts, request.max_attempts].filter((n) => n !== undefined);
  const answers = [tenant.on_worker_loss, request.on_worker_loss].filter((answer) => answer !== undefined);
  const strictness = Math.max(...answers.map((answer) => WORKER_LOSS_ANSWERS.indexOf(answer)));
  return {
    max_attempts: attempts.length > 0 ? Math.min(...attempts) : DEFAULT_POLICY.max_attempts,
    on_worker_loss: WORKER_LOSS_ANSWERS[strictness] ?? DEFAULT_POLICY.on_worker_loss,
    on_disconnect: "keep",
  };
}
