import * as z from "zod";
import { type GenerationId, isGenerationId } from "../id.ts";
import { type ConversationId, isConversationId } from "../request/conversation-id.ts";
import type { Message } from "../request/fields/input.ts";
import { whenFullSchema } from "../request/when-full.ts";

/** Policy for a turn that is created while the last one is running: `reject` refuses it, `queue` makes it wait, in the order in which turns were created. */
export const BUSY_POLICIES = ["reject", "queue"] as const;
export type BusyPolicy = (typeof BUSY_POLICIES)[number];

/*
 * Rows of CONVERSATIONS: one JSON object under each subject, its last value, each written after the one before by compare-and-set. A row has no text of the
 * conversation, which is in the logs of its generations, except the items that it was created with, until its second turn is claimed. A row of a kind or
 * version that this process does not know is left alone.
 */

const version = z.literal(1);
const id = z.custom<ConversationId>(isConversationId);
const generation = z.custom<GenerationId>(isGenerationId);

/** The turn that was claimed last. */
const headSchema = z.object({
  generation,
  /** The turn that it follows. Absent: it is the first. */
  parent: generation.optional(),
  /** When it was claimed. RFC 3339, UTC. */
  claimed_at: z.string(),
});

/** A generation that sums up the oldest turns, for turns that have no room for these. */
const summarySchema = z.object({
  generation,
  /** The turn whose prompt it was made from, and its number. */
  turn: generation,
  nth: z.int().min(1),
  /** The last segment of the prompt that it sums up: `segmentId`. */
  through: z.string(),
  /** Number of segments that it sums up. */
  turns: z.int().min(1),
  /** UTF-8 bytes as JSON that it may take; a longer one is not used. */
  bytes: z.int().min(1),
});

const conversationSchema = z.object({
  version,
  kind: z.literal("conversation"),
  id,
  created_at: z.string(),
  /** Seconds that it is kept after its last turn. */
  ttl_seconds: z.int().min(1),
  /** From then on it is not there any more, whether or not it was removed yet. */
  expires_at: z.string(),
  /** Subject of all its generations. */
  subject: z.string().optional(),
  end_user: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  /** Absent: `reject`. */
  on_busy: z.enum(BUSY_POLICIES).optional(),
  when_full: whenFullSchema,
  /** Items that it was created with. Kept until the second turn is claimed: the first turn's seq 0 then certainly has them. */
  items: z.array(z.custom<Message>((item) => typeof item === "object" && item !== null)).optional(),
  /** Hash of these, as JSON, kept for as long as the row. */
  items_sha256: z.string().optional(),
  /** The generation that its first turn follows, if that belongs to another conversation, or to none. */
  behind: generation.optional(),
  /** Number of turns claimed, without those whose generation was never created. */
  turns: z.int().min(0),
  head: headSchema.optional(),
  summary: summarySchema.optional(),
});

/** In the place of a conversation until the audit log has erased its generations. */
const deletedSchema = z.object({
  version,
  kind: z.literal("deleted"),
  id,
  /** Whose key it was deleted with. */
  by: z.string(),
  deleted_at: z.string(),
  /** The turn that was claimed last: it may still have been on its way. */
  head: generation.optional(),
  /** The conversation's last summary, likewise. */
  summary: generation.optional(),
});

/** Number of a tenant's conversations, including those that have expired and are not yet removed. Below 0 while one that was given back is not counted yet. */
const accountSchema = z.object({ version, kind: z.literal("account"), conversations: z.int() });

/** When a process has last looked for what is over. */
const sweepSchema = z.object({ version, kind: z.literal("sweep"), at: z.string() });

const rowSchema = z.discriminatedUnion("kind", [
  conversationSchema,
  deletedSchema,
  accountSchema,
  sweepSchema,
]);

export type ConversationSummary = z.infer<typeof summarySchema>;
export type ConversationRecord = z.infer<typeof conversationSchema>;
export type DeletedConversation = z.infer<typeof deletedSchema>;
export type ConversationRow = z.infer<typeof rowSchema>;

/** Undefined for what is no row of CONVERSATIONS. */
export function decodeConversationRow(payload: Uint8Array): ConversationRow | undefined {
  try {
    return rowSchema.safeParse(JSON.parse(new TextDecoder().decode(payload))).data;
  } catch {
    return undefined;
  }
}

export function encodeConversationRow(row: ConversationRow): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(row));
}

/**
 * The name by which the audit log keeps and erases what belongs to a conversation, as it does by a person's pseudonym: a turn has the words of
 * earlier ones in it, so all have one key.
 */
export function conversationOwner(conversation: string): string {
  return `conversation:${conversation}`;
}
