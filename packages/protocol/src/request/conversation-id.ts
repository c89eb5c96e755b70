import { RepriseError } from "../errors/reprise-error.ts";
import { toBase32 } from "../id.ts";

declare const brand: unique symbol;

/** Id of a conversation: generations of one tenant, each of which follows an earlier one. */
export type ConversationId = string & { readonly [brand]: "ConversationId" };

const CONVERSATION_ID = /^conv_[0-9a-v]{26}$/;

export function isConversationId(value: unknown): value is ConversationId {
  return typeof value === "string" && CONVERSATION_ID.test(value);
}

/** @throws RepriseError `conversation_not_found`: an id that the platform did not make belongs to no conversation. */
export function parseConversationId(value: unknown): ConversationId {
  if (isConversationId(value)) return value;
  throw conversationNotFound();
}

/**
 * @param bytes at least 17, uniformly random or a hash
 * @throws TypeError for less
 */
export function toConversationId(bytes: Uint8Array): ConversationId {
  return `conv_${toBase32(bytes)}` as ConversationId;
}

/** The same whether the id is malformed, another tenant's, another end user's, or that of a conversation which is over or deleted. */
export function conversationNotFound(): RepriseError {
  return new RepriseError("conversation_not_found", "There is no conversation with this id.", {
    param: "conversation",
  });
}
