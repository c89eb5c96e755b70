import * as z from "zod";
import { RepriseError } from "../errors/reprise-error.ts";
import { assertHistory } from "../request/assert-history.ts";
import { END_USER_RULE, isEndUser } from "../request/end-user.ts";
import { isMediaPart, referenceOf } from "../request/fields/content-part.ts";
import { messageSchema, partsOf } from "../request/fields/input.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { metadataSchema, parseWith } from "../request/request.ts";
import { BUSY_POLICIES } from "./conversation-row.ts";
import { whenFullSchema } from "../request/when-full.ts";

/** Limits on conversations; PROTOCOL.md §18 gives the same numbers. */
export const CONVERSATION_LIMITS = {
  leastTtlSeconds: 60,
  /** A year. */
  ttlSeconds: 31_536_000,
  defaultTtlSeconds: 2_592_000,
  turns: 10_000,
  /** Conversations of a tenant. */
  tenantConversations: 100_000,
  /** Items that a new conversation may be created with. */
  importedItems: 1_024,
  /** Turns that wait for the running one. */
  waitingTurns: 16,
  /** Length of one page of conversations, and of items. */
  page: 100,
} as const;

const schema = z.strictObject({
  metadata: metadataSchema.optional(),
  /** A pseudonym of the person whom it is about: of all its generations. */
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  /** Whose it is, with all its generations. */
  end_user: z.string().refine(isEndUser, { error: END_USER_RULE }).optional(),
  ttl_seconds: z
    .int()
    .min(CONVERSATION_LIMITS.leastTtlSeconds)
    .max(CONVERSATION_LIMITS.ttlSeconds)
    .optional(),
  on_busy: z.enum(BUSY_POLICIES).optional(),
  when_full: whenFullSchema.optional(),
  /** Earlier messages: the first turn's prompt. */
  items: z
    .array(messageSchema)
    .min(1)
    .max(CONVERSATION_LIMITS.importedItems, {
      error: `must hold 1 to ${CONVERSATION_LIMITS.importedItems} items`,
    })
    .optional(),
});

export type ConversationRequest = z.infer<typeof schema>;

/** The body as a client writes it: what is absent has a default. */
export type ConversationInput = z.input<typeof schema>;

/**
 * The body of `POST /v1/conversations`.
 * @throws RepriseError `invalid_request` that names the first wrong field
 */
export function parseConversationRequest(body: unknown): ConversationRequest {
  const request = parseWith(schema, body === undefined ? {} : body);
  const { items } = request;
  if (!items) return request;
  assertHistory(items, { isContinued: false, field: "items" });
  for (const { part, path } of partsOf(items)) {
    if (!isMediaPart(part) || part.url === undefined || referenceOf(part) === undefined) continue;
    // What it gives may be another thing for each turn.
    const param = `items${path.slice("input".length)}.url`;
    throw new RepriseError("invalid_request", `${param}: must be data:…; name what a URL gave by blob`, {
      param,
    });
  }
  return request;
}
