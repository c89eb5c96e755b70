import * as z from "zod";
import { promptSchema, turnContextSchema } from "./prompt.ts";
import { effectivePolicySchema } from "../../request/policy.ts";
import { mediaMapSchema } from "../../request/media.ts";
import { generationRequestSchema } from "../../request/request.ts";
import { count } from "./field.ts";

/** A budget that a generation is counted against, in the period in which it was created. */
const budgetChargeSchema = z.object({
  name: z.string(),
  /** Tokens, those of the input and those that engines have produced; for a budget in money, 10^-9 of the currency's unit. */
  limit: count,
  /** Names the period: `2026-11`, `total`. */
  period: z.string(),
  /** When it ends. RFC 3339, UTC. Absent: never. */
  ends_at: z.string().optional(),
  /** `admit`: generations continue while the ledger of all processes does not answer. Absent: they wait, or are refused. */
  on_redis_loss: z.string().optional(),
  /** For a budget in money: what a million tokens cost, of the models that may serve the generation, as decimal texts. */
  money: z
    .object({
      currency: z.string(),
      prices: z.record(
        z.string(),
        z.object({ input: z.string(), cached_input: z.string().optional(), output: z.string() }),
      ),
    })
    .optional(),
});
export type BudgetCharge = z.infer<typeof budgetChargeSchema>;

/** seq 0: the request itself. It never leaves the platform except to auditors and workers. */
export const requested = z.object({
  seq: z.literal(0).brand<"Seq">(),
  type: z.literal("generation.requested"),
  tenant: z.string(),
  generation: z.string(),
  /** RFC 3339, UTC. */
  created_at: z.string(),
  request: generationRequestSchema,
  /** Set for a turn of a conversation. */
  context: turnContextSchema.optional(),
  /** Messages that its model is given before the request's own input. Absent: none. */
  prompt: promptSchema.optional(),
  /** Capabilities that it needs of its worker and its engine, by names of `CAPABILITIES` or of a later version. Absent: those of every version. */
  needs: z.array(z.string()).optional(),
  /** Types of events that its creator's version knows and older ones do not: a worker appends no others of these. Absent: none. */
  events: z.array(z.string()).optional(),
  /** The blobs that its parts name. Absent: they name none. */
  media: mediaMapSchema.optional(),
  /** Limits of the images and audio that the model may make, if they differ from `BLOB_LIMITS`. */
  blobs: z
    .object({
      /** The most that one may have. */
      max_bytes: count.optional(),
      /** The most that all blobs of the tenant may have. */
      quota_bytes: count.optional(),
      ttl_seconds: count.optional(),
    })
    .optional(),
  /** The tenant's and the request's policy, made one. */
  policy: effectivePolicySchema,
  idempotency_key: z.string().optional(),
  traceparent: z.string().optional(),
  budgets: z.array(budgetChargeSchema).optional(),
});
