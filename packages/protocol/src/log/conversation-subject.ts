import { type ConversationId, isConversationId } from "../request/conversation-id.ts";
import { isTenantId, type TenantId } from "../id.ts";

/** Rows of conversations: the last value of each subject. */
export const CONVERSATIONS_STREAM = "CONVERSATIONS";
export const CONVERSATIONS_SUBJECTS = "conv.>";

export function conversationSubject(tenant: TenantId, conversation: ConversationId): string {
  return `conv.${tenant}.${conversation}`;
}

/** Returns the subject of the number of a tenant's conversations. */
export function conversationAccountSubject(tenant: TenantId): string {
  return `conv.${tenant}.account`;
}

/** All of a tenant. */
export function tenantConversationSubjects(tenant: TenantId): string {
  return `conv.${tenant}.*`;
}

/** When a process has last looked for what is over. */
export const CONVERSATION_SWEEP_SUBJECT = "conv.sweep";

/** Whose row it is; undefined for that of the sweeps. */
export function parseConversationTenant(subject: string): TenantId | undefined {
  const [first, tenant, ...rest] = subject.split(".");
  return first === "conv" && isTenantId(tenant) && rest.length === 1 ? tenant : undefined;
}

/** Undefined for a subject that `conversationSubject` does not make. */
export function parseConversationSubject(
  subject: string,
): { tenant: TenantId; conversation: ConversationId } | undefined {
  const [first, tenant, conversation, ...rest] = subject.split(".");
  if (first !== "conv" || !isTenantId(tenant) || !isConversationId(conversation) || rest.length > 0)
    return undefined;
  return { tenant, conversation };
}
