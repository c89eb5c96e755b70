import { RepriseError } from "@reprise/protocol";
import type { Redis } from "ioredis";
import { TimedRedis } from "./timed-redis.ts";

/** Milliseconds that a limit check waits for Redis before the node decides alone. */
const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 2_000;
/** Milliseconds that a command may wait before its connection is replaced: the peer may have disappeared silently. */
const SOCKET_TIMEOUT_MS = 2_000;
const MAX_RECONNECT_PAUSE_MS = 2_000;

/**
 * Opens the connection that limits are counted over. It reconnects for ever and never queues: a command while Redis is away is
 * rejected at once.
 * @param url `redis://` or `rediss://`, with an ACL user and password where Redis asks for them
 * @param timeoutMs how long a command waits for its answer. Default 250 ms.
 * @throws RepriseError `config_invalid` for a URL that is no Redis URL; the message does not repeat it
 */
export function openRedis(
  url: string,
  {
    onError,
    timeoutMs = COMMAND_TIMEOUT_MS,
  }: { onError: (error: Error) => void; timeoutMs?: number | undefined },
): Redis {
  const { protocol } = parseUrl(url);
  if (protocol !== "redis:" && protocol !== "rediss:") throw notRedis();
  const redis = new TimedRedis(url, timeoutMs, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: Math.max(SOCKET_TIMEOUT_MS, timeoutMs),
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), MAX_RECONNECT_PAUSE_MS),
    connectionName: "reprise",
  });
  // An error of the login has the password with it.
  redis.on("error", ({ message }: Error) => onError(new Error(message)));
  return redis;
}

function parseUrl(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw notRedis();
  }
}

function notRedis(): RepriseError {
  return new RepriseError("config_invalid", "REPRISE_REDIS_URL must be a redis:// or rediss:// URL.");
}
