/** Limits on conversations; PROTOCOL.md §18 gives the same numbers. */
export const CONVERSATION_LIMITS = {
  leastTtlSeconds: 60,
  /** A year. */
  ttlSeconds: 31_536_000,
  defaultTtlSeconds: 2_592_000,
  turns: 10_000,
  /** Of a tenant. */
  tenantConversations: 100_000,
  /** What was said before it, of a conversation that begins with that. */
  importedItems: 1_024,
  /** Turns that wait for the one that goes on. */
  waitingTurns: 16,
  /** Of one page of conversations, and of items. */
  page: 100,
} as const;
