import { randomBytes } from "node:crypto";
import { type KV, type KvWatchEntry, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { readLastMessage } from "@reprise/log";
import {
  bucketStream,
  bucketSubjects,
  RepriseError,
  TOKEN_KEYS_BUCKET,
  type UnixMs,
  unixNow,
  toUnixMs,
} from "@reprise/protocol";
import type { CryptoKey } from "jose";
import * as z from "zod";
import { keyIdSchema, PLATFORM_KEY_PREFIX, TOKEN_LIMITS } from "./claims.ts";
import {
  generateSigningKey,
  importPrivateKey,
  type PrivateKey,
  privateKeySchema,
  toPublicKey,
} from "./signing-key.ts";
import type { PublicKey } from "./public-key.ts";

const ENTRY = "platform";
const SUBJECT = bucketSubjects(TOKEN_KEYS_BUCKET).replace(">", ENTRY);

const DAY_MS = 86_400_000;
/** After how long a key is replaced. */
const ROTATE_AFTER_MS = 30 * DAY_MS;
/** From then on every node has heard of a new key, and signs with it. */
const KNOWN_AFTER_MS = 60_000;
const SWEEP_MS = 3_600_000;
const LAST_TOKEN_MS = (TOKEN_LIMITS.lifeSeconds + 2 * TOKEN_LIMITS.clockLeewaySeconds) * 1_000;

const keySchema = z.strictObject({
  kid: keyIdSchema,
  created_at: z.iso.datetime(),
  private_jwk: privateKeySchema,
});
const entrySchema = z.strictObject({ version: z.literal(1), keys: z.array(keySchema).min(1).max(16) });
type StoredKey = z.infer<typeof keySchema>;

export interface PlatformKeys {
  /** The key to sign with now. */
  signingKey(): Promise<{ readonly keyId: string; readonly privateKey: CryptoKey }>;
  /** The public key with this id. */
  find(keyId: string): PublicKey | undefined;
  /** Adds a key, with which nodes sign from a minute later on. Tokens that were signed before stay valid. */
  rotate(): Promise<void>;
  close(): void;
}

export interface PlatformKeysOptions {
  readonly connection: NatsConnection;
  readonly replicas: number;
  readonly onError: (error: unknown) => void;
  readonly now?: () => UnixMs;
}

/**
 * The keys with which the platform itself signs stream tokens, in a bucket. The first node makes one; every node follows what is there.
 * A key is replaced after 30 days, by whichever node comes first, and kept until the last token that it has signed has expired.
 * @throws RepriseError `broker_unavailable`, `config_invalid` when the bucket holds something else
 */
export async function openPlatformKeys(options: PlatformKeysOptions): Promise<PlatformKeys> {
  const { connection, replicas, onError, now = unixNow } = options;
  const bucket = await guard(() => new Kvm(connection).create(TOKEN_KEYS_BUCKET, { history: 1, replicas }));
  let current = await guard(() => readOrCreate(connection, bucket, now()));
  const watcher = await guard(() => bucket.watch({ key: ENTRY }));
  const readAgain = async () => void (current = (await read(connection, bucket)) ?? current);
  void follow(watcher, readAgain, onError).catch(onError);

  const rotate = () =>
    guard(async () => {
      const latest = (await read(connection, bucket)) ?? current;
      const keys = [...latest.keys.filter(isNeeded(latest.keys, now())), await createKey(now())];
      current = { keys, revision: await bucket.update(ENTRY, encode(keys), latest.revision) };
    });
  const rotateIfDue = async () => {
    const newest = current.keys.at(-1);
    if (newest && now() - createdAtMs(newest) >= ROTATE_AFTER_MS) await rotate();
  };
  const sweep = setInterval(() => void rotateIfDue().catch(onError), SWEEP_MS).unref();
  return {
    async signingKey() {
      const known = current.keys.filter((key) => createdAtMs(key) + KNOWN_AFTER_MS <= now()).at(-1);
      const key = known ?? current.keys[0];
      if (!key) throw new RepriseError("internal", "There is no key to sign tokens with.");
      return { keyId: key.kid, privateKey: await importOnce(key.private_jwk) };
    },
    find: (keyId) => {
      const key = current.keys.find(({ kid }) => kid === keyId);
      return key && publicOnce(key.private_jwk);
    },
    rotate,
    close() {
      clearInterval(sweep);
      watcher.stop();
    },
  };
}

interface Current {
  readonly keys: readonly StoredKey[];
  readonly revision: number;
}

/** Of several nodes that start on an empty bucket one creates the key, and the others find it. */
async function readOrCreate(connection: NatsConnection, bucket: KV, nowMs: UnixMs): Promise<Current> {
  const found = await read(connection, bucket);
  if (found) return found;
  const keys = [await createKey(nowMs)];
  try {
    return { keys, revision: await bucket.create(ENTRY, encode(keys)) };
  } catch (error) {
    const others = await read(connection, bucket);
    if (others) return others;
    throw error;
  }
}

/** The bucket's client does not tell a copy of another message from an entry: the leader is asked. */
async function read(connection: NatsConnection, bucket: KV): Promise<Current | undefined> {
  const entry = await bucket.get(ENTRY);
  if (entry?.operation !== "PUT") return undefined;
  const payload = await readLastMessage(connection, bucketStream(TOKEN_KEYS_BUCKET), SUBJECT);
  return payload && { keys: decode(new TextDecoder().decode(payload)), revision: entry.revision };
}

async function follow(
  watcher: AsyncIterable<KvWatchEntry>,
  onChange: () => Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  for await (const entry of watcher) {
    try {
      // Without its entry the bucket says nothing: this node goes on with the keys that it has.
      if (entry.operation === "PUT") await onChange();
    } catch (error) {
      onError(error);
    }
  }
}

/** A key was in use until a minute after the next one was created, and its last token until an hour after that. */
function isNeeded(keys: readonly StoredKey[], nowMs: UnixMs): (key: StoredKey, i: number) => boolean {
  return (_, i) => {
    const next = keys[i + 1];
    return !next || nowMs < createdAtMs(next) + KNOWN_AFTER_MS + LAST_TOKEN_MS;
  };
}

async function createKey(nowMs: UnixMs): Promise<StoredKey> {
  return {
    kid: `${PLATFORM_KEY_PREFIX}${randomBytes(9).toString("base64url")}`,
    created_at: new Date(nowMs).toISOString(),
    private_jwk: await generateSigningKey(),
  };
}

function createdAtMs({ created_at }: StoredKey): UnixMs {
  return toUnixMs(created_at);
}

function encode(keys: readonly StoredKey[]): string {
  return JSON.stringify({ version: 1, keys });
}

/** No message and no cause holds what was read: it is a private key. */
function decode(text: string): readonly StoredKey[] {
  const { data } = entrySchema.safeParse(parse(text));
  if (data) return data.keys;
  throw new RepriseError(
    "config_invalid",
    `The bucket ${TOKEN_KEYS_BUCKET} holds no keys that this version reads.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const privateKeys = new WeakMap<PrivateKey, Promise<CryptoKey>>();
const publicKeys = new WeakMap<PrivateKey, PublicKey>();

function importOnce(jwk: PrivateKey): Promise<CryptoKey> {
  const key = privateKeys.get(jwk) ?? importPrivateKey(jwk);
  privateKeys.set(jwk, key);
  return key;
}

/** The same object each time, by which its import is remembered. */
function publicOnce(jwk: PrivateKey): PublicKey {
  const key = publicKeys.get(jwk) ?? toPublicKey(jwk);
  publicKeys.set(jwk, key);
  return key;
}

async function guard<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof RepriseError) throw cause;
    throw new RepriseError("broker_unavailable", `The bucket ${TOKEN_KEYS_BUCKET} can't be used.`, { cause });
  }
}
