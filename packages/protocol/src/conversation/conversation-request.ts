import * as z from "zod";
import { END_USER_RULE, isEndUser } from "../request/end-user.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { metadataSchema, parseWith } from "../request/request.ts";
import { BUSY_POLICIES } from "./busy-policy.ts";
import { CONVERSATION_LIMITS } from "./conversation-limits.ts";
import { FULL_POLICIES } from "./when-full.ts";

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
  when_full: z.enum(FULL_POLICIES).optional(),
});

export type ConversationRequest = z.infer<typeof schema>;

/** The body as a client writes it: what is absent has a default. */
export type ConversationInput = z.input<typeof schema>;

/**
 * The body of `POST /v1/conversations`.
 * @throws RepriseError `invalid_request` that names the first wrong field
 */
export function parseConversationRequest(body: unknown): ConversationRequest {
  return parseWith(schema, body === undefined ? {} : body);
}
