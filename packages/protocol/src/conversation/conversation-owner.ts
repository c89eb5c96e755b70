/**
 * The name by which the audit log keeps and erases what belongs to a conversation, as it does by a person's pseudonym: a turn has the words of
 * earlier ones in it, so all have one key.
 */
export function conversationOwner(conversation: string): string {
  return `conversation:${conversation}`;
}
