import { createHash } from "node:crypto";
import { BUDGET_PREFIX, KEY_PREFIX, PROCESS_KEYS } from "./key-names.ts";

/*
 * The users of Redis and their commands, in the form of its `aclfile`. Delivery runs the scripts of limits (`counting-script.ts`) and of budgets (`ledger-scripts.ts`), gives leases back, and counts
 * the processes (`open-shared.ts`). A worker runs those of budgets, and counts the processes. A script may do no more than its caller.
 */

const BUDGET_COMMANDS = [
  // The client's own: a ready check, and the connection's name. It continues without them. `client|setinfo` is unknown before Redis 7.2.
  "info",
  "client|setname",
  "eval",
  "evalsha",
  "time",
  "hdel",
  "hget",
  "hincrby",
  "hset",
  "hsetnx",
  "pexpire",
  "pexpireat",
  "zadd",
  "zcount",
  "zrangebyscore",
  "zrem",
  "zremrangebyscore",
  "zscore",
] as const;
const LIMIT_COMMANDS = ["get", "set", "del", "pttl", "zcard"] as const;

export interface RedisPasswords {
  readonly delivery: string;
  readonly worker: string;
  readonly operator: string;
}

/**
 * Encodes users `delivery`, for the keys of limits and budgets alone; `worker`, for those of budgets, who may also count the nodes of delivery; and `operator`, who may do everything. A connection
 * without a user may do nothing. No password can be read from it.
 */
export function encodeRedisAcl({ delivery, worker, operator }: RedisPasswords): string {
  const may = (commands: readonly string[]) => commands.map((command) => `+${command}`).join(" ");
  return [
    "user default off resetpass resetkeys resetchannels -@all",
    `user delivery on ${hash(delivery)} resetchannels ~${KEY_PREFIX}* -@all ${may([...BUDGET_COMMANDS, ...LIMIT_COMMANDS])}`,
    `user worker on ${hash(worker)} resetchannels ~${BUDGET_PREFIX}* %R~${PROCESS_KEYS.delivery} -@all ${may(BUDGET_COMMANDS)}`,
    `user operator on ${hash(operator)} ~* &* +@all`,
    "",
  ].join("\n");
}

function hash(password: string): string {
  return `#${createHash("sha256").update(password).digest("hex")}`;
}
