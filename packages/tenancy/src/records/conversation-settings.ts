import {
  BUSY_POLICIES,
  type BusyPolicy,
  CONVERSATION_LIMITS,
  type WhenFull,
  whenFullSchema,
} from "@reprise/protocol";
import * as z from "zod";

const DAY_SECONDS = 86_400;
const MAX_CONVERSATIONS = 1_000_000_000;

/** Settings of a tenant's conversations. */
export const conversationSettingsSchema = z.strictObject({
  /** The most that it has at a time, over all nodes. Default `CONVERSATION_LIMITS.tenantConversations`. */
  max: z.int().min(1).max(MAX_CONVERSATIONS).optional(),
  /**
   * Days that a conversation is kept after its last turn: the most that a client may ask for, and the default if it does not ask. Default: a year at most, and
   * 30 days.
   */
  ttl_days: z
    .int()
    .min(1)
    .max(CONVERSATION_LIMITS.ttlSeconds / DAY_SECONDS)
    .optional(),
  /** Policy for a turn while the last one is running, if the conversation does not set it. Default `reject`. */
  on_busy: z.enum(BUSY_POLICIES).optional(),
  /** Policy for a turn whose prompt does not fit, if the conversation does not set it. Default `error`. */
  when_full: whenFullSchema.optional(),
});
export type ConversationSettings = z.infer<typeof conversationSettingsSchema>;

/** Rules of a tenant's conversations, with and without settings. */
export interface ConversationRules {
  readonly most: number;
  readonly mostTtlSeconds: number;
  readonly defaultTtlSeconds: number;
  readonly onBusy: BusyPolicy;
  readonly whenFull: WhenFull;
}

export function conversationRulesOf({
  max,
  ttl_days: days,
  on_busy: onBusy = "reject",
  when_full: whenFull = "error",
}: ConversationSettings = {}): ConversationRules {
  const { tenantConversations, ttlSeconds, defaultTtlSeconds } = CONVERSATION_LIMITS;
  const own = days === undefined ? undefined : days * DAY_SECONDS;
  return {
    most: max ?? tenantConversations,
    mostTtlSeconds: own ?? ttlSeconds,
    defaultTtlSeconds: own ?? defaultTtlSeconds,
    onBusy,
    whenFull,
  };
}
