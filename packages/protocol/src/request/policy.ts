import * as z from "zod";
import { effectiveModerationSchema, moderationSchema } from "./moderation-policy.ts";
import { DEFAULT_TIMEOUTS, effectiveTimeoutsSchema, tightenTimeouts, timeoutsSchema } from "./timeouts.ts";

/** Answers to the loss of a worker during a generation, from the most to the least permissive. */
export const WORKER_LOSS_ANSWERS = ["continue", "restart", "fail"] as const;

const MAX_CANCEL_AFTER_MS = 86_400_000;
const MAX_LEAD_TOKENS = 1_000_000;
const MAX_INTERVAL_MS = 10_000;
const MAX_CHUNK_MS = 1_000;
const MAX_CHUNK_TOKENS = 1_000;
/** From the strictest: a delta is never held, or only under pressure. */
const CHUNKINGS = ["off", "auto"] as const;

const cancelWhenAbsent = z.strictObject({ cancel_after: z.int().min(0).max(MAX_CANCEL_AFTER_MS) });
const onDisconnect = z.union([z.literal("keep"), cancelWhenAbsent], {
  error: `must be "keep", or {cancel_after: 0 to ${MAX_CANCEL_AFTER_MS} ms}`,
});
const pace = z.strictObject({ max_lead_tokens: z.int().min(1).max(MAX_LEAD_TOKENS) });
const fixedChunking = z.strictObject({
  max_ms: z.int().min(1).max(MAX_CHUNK_MS),
  max_tokens: z.int().min(1).max(MAX_CHUNK_TOKENS),
});
const chunking = z.union([z.enum(CHUNKINGS), fixedChunking], {
  error: `must be "auto", "off", or {max_ms: 1 to ${MAX_CHUNK_MS}, max_tokens: 1 to ${MAX_CHUNK_TOKENS}}`,
});
const delivery = z.strictObject({ min_interval_ms: z.int().min(0).max(MAX_INTERVAL_MS) });

/**
 * Policy of a generation. Both a tenant and a request may have one; the stricter of each field applies. Fields that this version does not act on are refused,
 * never ignored.
 */
export const policySchema = z.strictObject({
  /** Number of workers that may try the generation, 1 to 10. Default 3. A worker that was told to stop and one whose engine had a fallback are not counted. */
  max_attempts: z.int().min(1).max(10).optional(),
  /** `continue` from the exact prefix where the engine can, else `restart` visibly; or `restart` always; or `fail`. Default `continue`. */
  on_worker_loss: z.enum(WORKER_LOSS_ANSWERS).optional(),
  /** `keep` (default): a reader's absence never ends a generation. `cancel_after`: it is cancelled when it has had no reader for so long. */
  on_disconnect: onDisconnect.optional(),
  /** Milliseconds that each phase may take, and the answer when it takes longer. */
  timeouts: timeoutsSchema.optional(),
  /** Tokens that the furthest reader may lag before the engine is asked for no more. Default: the engine is never slowed. */
  pace: pace.optional(),
  /**
   * Lets deltas wait to be stored as one event, after the first one is stored. `auto` (default): only while the worker's appends take longer than
   * usual, for at most 40 ms. `off`: never. `max_ms`, `max_tokens`: always, until one of the two is reached.
   */
  chunking: chunking.optional(),
  /** Milliseconds between two writes to a reader, at least. Default 0: at once. */
  delivery: delivery.optional(),
  /** Rules by which the output is judged, and their effect on readers. Default: it is not judged. */
  moderation: moderationSchema.optional(),
});

export const DEFAULT_POLICY = {
  max_attempts: 3,
  on_worker_loss: "continue",
  on_disconnect: "keep",
  timeouts: DEFAULT_TIMEOUTS,
  chunking: "auto",
  delivery: { min_interval_ms: 0 },
} as const satisfies Policy;

/**
 * A policy in which nothing is left open. What a log of an earlier version does not say has its default. Fields that a later version
 * has added are ignored; a value that it has added makes the policy unreadable.
 */
export const effectivePolicySchema = z.object({
  max_attempts: z.int().default(DEFAULT_POLICY.max_attempts),
  on_worker_loss: z.enum(WORKER_LOSS_ANSWERS).default(DEFAULT_POLICY.on_worker_loss),
  on_disconnect: z.union([z.literal("keep"), cancelWhenAbsent.strip()]).default(DEFAULT_POLICY.on_disconnect),
  timeouts: effectiveTimeoutsSchema,
  pace: pace.strip().optional(),
  chunking: z.union([z.enum(CHUNKINGS), fixedChunking.strip()]).default(DEFAULT_POLICY.chunking),
  delivery: delivery.strip().default(DEFAULT_POLICY.delivery),
  /** Undefined: off. Its rules are stored apart, so `tightenPolicy` leaves it to `tightenModeration`. */
  moderation: effectiveModerationSchema.optional(),
});

export type Policy = z.infer<typeof policySchema>;
export type EffectivePolicy = z.infer<typeof effectivePolicySchema>;

/** Combines the policies of a tenant and a request: field by field, the stricter of the two. A default applies only if neither sets the field. */
export function tightenPolicy(tenant: Policy, request: Policy): EffectivePolicy {
  const said = <Name extends keyof Policy>(name: Name) =>
    [tenant[name], request[name]].filter((value) => value !== undefined) as NonNullable<Policy[Name]>[];
  const least = (numbers: readonly number[]) => (numbers.length > 0 ? Math.min(...numbers) : undefined);
  const leads = said("pace").map(({ max_lead_tokens }) => max_lead_tokens);
  const intervals = said("delivery").map(({ min_interval_ms }) => min_interval_ms);
  const strictness = Math.max(...said("on_worker_loss").map((answer) => WORKER_LOSS_ANSWERS.indexOf(answer)));
  const cancelAfter = least(
    said("on_disconnect").flatMap((answer) => (answer === "keep" ? [] : [answer.cancel_after])),
  );
  return {
    max_attempts: least(said("max_attempts")) ?? DEFAULT_POLICY.max_attempts,
    on_worker_loss: WORKER_LOSS_ANSWERS[strictness] ?? DEFAULT_POLICY.on_worker_loss,
    on_disconnect: cancelAfter === undefined ? "keep" : { cancel_after: cancelAfter },
    timeouts: tightenTimeouts(tenant.timeouts ?? {}, request.timeouts ?? {}),
    ...(leads.length > 0 && { pace: { max_lead_tokens: Math.min(...leads) } }),
    chunking: tightenChunking(said("chunking")),
    delivery: { min_interval_ms: Math.max(DEFAULT_POLICY.delivery.min_interval_ms, ...intervals) },
  };
}

/** The one that holds a delta for a shorter time: `off`, `auto`, then the smaller limits. */
function tightenChunking(said: readonly NonNullable<Policy["chunking"]>[]): EffectivePolicy["chunking"] {
  const fixed = said.filter((one) => typeof one === "object");
  const named = CHUNKINGS.find((one) => said.includes(one));
  if (named || fixed.length === 0) return named ?? DEFAULT_POLICY.chunking;
  return {
    max_ms: Math.min(...fixed.map((one) => one.max_ms)),
    max_tokens: Math.min(...fixed.map((one) => one.max_tokens)),
  };
}
