/**
 * The users of the broker: one for each service, and `admin`, which creates and changes streams and which people's tools use. A witness
 * does not speak to the broker.
 */
export const SERVICE_USERS = [
  "delivery",
  "inference-worker",
  "moderation",
  "audit-log",
  "analytics",
] as const;
export const BROKER_USERS = [...SERVICE_USERS, "admin"] as const;

export type ServiceUser = (typeof SERVICE_USERS)[number];
export type BrokerUser = (typeof BROKER_USERS)[number];

/** Prefix of the subjects on which the broker answers a user's requests. No other service may listen there. */
export function inboxPrefixOf(user: BrokerUser): string {
  return `_INBOX_${user}`;
}
