import * as z from "zod";

/**
 * Roles of a key. `create` starts generations, `read` follows them, `cancel` ends them early, `tool` answers their tool calls, `input` sends their streamed input, `produce` writes the output of those without a worker, `review` decides what
 * moderation has left to people, and sees original text for it, `audit` reads the audit log, long after the logs have expired, `blob` uploads, reads and
 * deletes blobs, `erase` deletes conversations with all their text, `usage` reads durations, use and cost of generations, `admin` administers the key's own
 * tenant.
 */
export const ROLES = [
  "create",
  "read",
  "cancel",
  "tool",
  "input",
  "produce",
  "review",
  "audit",
  "blob",
  "erase",
  "usage",
  "admin",
] as const;
export type Role = (typeof ROLES)[number];

export const rolesSchema = z
  .array(z.enum(ROLES))
  .min(1)
  .refine((list) => new Set(list).size === list.length, "names a role twice");

const sets = new Map<string, ReadonlySet<Role>>();

/** One set for all keys with the same roles: there may be a million keys. */
export function roleSet(roles: readonly Role[]): ReadonlySet<Role> {
  const sorted = ROLES.filter((role) => roles.includes(role));
  const key = sorted.join();
  let set = sets.get(key);
  if (!set) sets.set(key, (set = new Set(sorted)));
  return set;
}
