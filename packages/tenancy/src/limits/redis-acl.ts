import { createHash } from "node:crypto";
import { KEY_PREFIX } from "./redis-counters.ts";

/*
 * Who may do what at Redis, in the form of its `aclfile`. Delivery is the only service that uses Redis: it runs two scripts (`take-script.ts`), gives leases back,
 * and counts its nodes (`open-counters.ts`). A script may do no more than its caller.
 */

const DELIVERY_COMMANDS = [
  // The client's own: a ready check, and the connection's name. It goes on without them. `client|setinfo` is unknown before Redis 7.2.
  "info",
  "client|setname",
  "eval",
  "evalsha",
  "time",
  "get",
  "set",
  "del",
  "pexpire",
  "pttl",
  "zadd",
  "zcard",
  "zrem",
  "zremrangebyscore",
  "zscore",
] as const;

export interface RedisPasswords {
  readonly delivery: string;
  readonly operator: string;
}

/** Users `delivery`, for the keys of the limits alone, and `operator`, who may do everything. A connection without a user may do nothing. No password can be read from it. */
export function encodeRedisAcl({ delivery, operator }: RedisPasswords): string {
  const commands = DELIVERY_COMMANDS.map((command) => `+${command}`).join(" ");
  return [
    "user default off resetpass resetkeys resetchannels -@all",
    `user delivery on ${hash(delivery)} resetchannels ~${KEY_PREFIX}* -@all ${commands}`,
    `user operator on ${hash(operator)} ~* &* +@all`,
    "",
  ].join("\n");
}

function hash(password: string): string {
  return `#${createHash("sha256").update(password).digest("hex")}`;
}
