import { randomBytes } from "node:crypto";
import { plusMs, RepriseError, toUnixMs, type UnixMs } from "@reprise/protocol";
import * as z from "zod";
import { keyIdSchema, PLATFORM_KEY_PREFIX, TOKEN_LIMITS } from "./claims.ts";
import { generateSigningKey, privateKeySchema } from "./signing-key.ts";

/*
 * The platform's keys of stream tokens as the bucket has them, oldest first, and what becomes of them with time. All nodes decide by the same
 * record and by their own clocks:
 *
 * - the newest key signs once every node has heard of it, and the one before it until then;
 * - a key verifies until the last token that it can have signed has expired, or until the end that an operator has set;
 * - a key that an operator cuts off at once is not in the record any more, which versions without `expires_at` obey too.
 */

/** After this time without being asked for, every node has heard of a new key. */
const KNOWN_AFTER_MS = 60_000;
/** The same where an operator has set an end to the keys before: tokens that they sign meanwhile end early, and nodes hear within a second. */
const SOON_KNOWN_AFTER_MS = 2_000;
const LAST_TOKEN_MS = (TOKEN_LIMITS.lifeSeconds + 2 * TOKEN_LIMITS.clockLeewaySeconds) * 1_000;
const MAX_KEYS = 16;

const keySchema = z.strictObject({
  kid: keyIdSchema,
  created_at: z.iso.datetime(),
  /** An end that an operator has set. */
  expires_at: z.iso.datetime().optional(),
  private_jwk: privateKeySchema,
});
const entrySchema = z.strictObject({ version: z.literal(1), keys: z.array(keySchema).min(1).max(MAX_KEYS) });
export type PlatformKeyRecord = z.infer<typeof keySchema>;
type Keys = readonly PlatformKeyRecord[];

/** A key as an operator sees it. */
export interface PlatformKeyView {
  readonly kid: string;
  readonly created_at: string;
  /** From then on its tokens are refused; absent for the newest key. */
  readonly expires_at?: string | undefined;
}

export async function createPlatformKey(nowMs: UnixMs): Promise<PlatformKeyRecord> {
  return {
    kid: `${PLATFORM_KEY_PREFIX}${randomBytes(9).toString("base64url")}`,
    created_at: new Date(nowMs).toISOString(),
    private_jwk: await generateSigningKey(),
  };
}

/**
 * Adds a new key after the others, and removes those that no token needs any more.
 * @param overlapMs for how long tokens of the earlier keys still count; undefined: until each has expired, an hour at most
 * @throws RepriseError `limit_exceeded` if the number of keys is at its limit
 */
export function withPlatformKey(
  keys: Keys,
  { made, nowMs, overlapMs }: { made: PlatformKeyRecord; nowMs: UnixMs; overlapMs?: number | undefined },
): Keys {
  const next = [...endingBy(keys, nowMs, overlapMs), made];
  const needed = next.filter((key) => {
    const endMs = endOfPlatformKey(next, key);
    return endMs === undefined || nowMs < endMs;
  });
  if (needed.length <= MAX_KEYS) return needed;
  const firstEndMs = Math.min(...needed.map((key) => endOfPlatformKey(needed, key) ?? Infinity));
  const message = `There are ${keys.length} keys of stream tokens whose tokens still count, which is the most: wait, or set a shorter overlap.`;
  throw new RepriseError("limit_exceeded", message, {
    param: "overlap_seconds",
    retryAfterMs: Math.max(1_000, firstEndMs - nowMs),
  });
}

function endingBy(keys: Keys, nowMs: UnixMs, overlapMs: number | undefined): Keys {
  if (overlapMs === undefined) return keys;
  const endMs = plusMs(nowMs, overlapMs);
  return keys.map((key) => {
    // The newest key has no end before a new one is there.
    const presentEndMs = endOfPlatformKey(keys, key);
    if (presentEndMs !== undefined && presentEndMs <= endMs) return key;
    return { ...key, expires_at: new Date(endMs).toISOString() };
  });
}

/** From when on tokens of a key are refused; undefined for the newest one. */
export function endOfPlatformKey(keys: Keys, key: PlatformKeyRecord): UnixMs | undefined {
  const next = keys[keys.indexOf(key) + 1];
  const replacedMs = next && plusMs(toUnixMs(next.created_at), KNOWN_AFTER_MS + LAST_TOKEN_MS);
  if (key.expires_at === undefined) return replacedMs;
  const setMs = toUnixMs(key.expires_at);
  return replacedMs !== undefined && replacedMs < setMs ? replacedMs : setMs;
}

/** The key to sign with: the newest that all nodes know, else the oldest that counts. */
export function platformKeyToSignWith(keys: Keys, nowMs: UnixMs): PlatformKeyRecord | undefined {
  const live = keys.filter(({ expires_at }) => expires_at === undefined || nowMs < toUnixMs(expires_at));
  const known = live.filter(({ created_at }, i) => {
    const isUrgent = live[i - 1]?.expires_at !== undefined;
    return plusMs(toUnixMs(created_at), isUrgent ? SOON_KNOWN_AFTER_MS : KNOWN_AFTER_MS) <= nowMs;
  });
  return known.at(-1) ?? live[0];
}

export function viewPlatformKeys(keys: Keys): PlatformKeyView[] {
  return keys.map((key) => {
    const endMs = endOfPlatformKey(keys, key);
    const expires_at = endMs === undefined ? undefined : new Date(endMs).toISOString();
    return { kid: key.kid, created_at: key.created_at, ...(expires_at !== undefined && { expires_at }) };
  });
}

export function encodePlatformKeys(keys: Keys): string {
  return JSON.stringify({ version: 1, keys });
}

/** Undefined for what this version does not read. */
export function decodePlatformKeys(text: string): Keys | undefined {
  return entrySchema.safeParse(parse(text)).data?.keys;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
