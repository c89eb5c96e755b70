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
