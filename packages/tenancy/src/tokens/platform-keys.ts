import { randomBytes } from "node:crypto";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import { isRefusal, notPublished, type OnStale, readLastRaw, RefreshLoop } from "@reprise/log";
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
/** Another node that creates a key at the same moment is waited for. */
const RACE_PAUSE_MS = 20;
const RACE_BUDGET_MS = 5_000;
const EVERY_MS = 500;
/** After so many periods a node that runs has found a forged entry, and has stored its keys again. */
const PATIENT_PERIODS = 10;
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
  /** Told when the bucket can't be read for `staleMs`, and when it can again. */
  readonly onStale?: OnStale | undefined;
  readonly now?: () => UnixMs;
  /** How often the bucket is read. Default 500 ms. */
  readonly everyMs?: number | undefined;
  /** Default 5 s. */
  readonly staleMs?: number | undefined;
}

/**
 * The keys with which the platform itself signs stream tokens, in a bucket. The first node makes one; every node follows what is there.
 * A key is replaced after 30 days, by whichever node comes first, and kept until the last token that it has signed has expired.
 * @throws RepriseError `broker_unavailable`, `config_invalid` when the bucket holds something else
 */
export async function openPlatformKeys(options: PlatformKeysOptions): Promise<PlatformKeys> {
  const { connection, replicas, onError, now = unixNow } = options;
  const bucket = await guard(() => new Kvm(connection).create(TOKEN_KEYS_BUCKET, { history: 1, replicas }));
  let refused = 0;
  /** Told once. */
  const refuse = ({ revision, problem }: Entry) => {
    if (problem && refused !== revision) onError(problem);
    refused = revision;
  };
  const { onStale, everyMs = EVERY_MS, staleMs } = options;
  const patienceMs = PATIENT_PERIODS * everyMs;
  let current = await guard(() => readOrCreate(connection, bucket, { nowMs: now(), refuse, patienceMs }));
  const readAgain = async () => {
    const entry = await read(connection);
    // Without an entry that it can use this node goes on with the keys that it has.
    if (entry.keys) current = { keys: entry.keys };
    else refuse(entry);
    // A node that starts finds the keys again.
    if (entry.isForged) await write(bucket, current.keys, entry.revision);
  };
  const what = "the keys of stream tokens";
  const refresh = new RefreshLoop({ connection, what, read: readAgain, onStale, everyMs, staleMs });

  const rotate = () =>
    guard(async () => {
      const latest = assertReplaceable(await read(connection));
      const present = latest.keys ?? current.keys;
      const keys = [...present.filter(isNeeded(present, now())), await createKey(now())];
      if (await write(bucket, keys, latest.revision)) current = { keys };
      else throw new RepriseError("broker_unavailable", "Another node has changed the keys meanwhile.");
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
      void refresh.close();
    },
  };
}

interface Current {
  readonly keys: readonly StoredKey[];
}

/** What the bucket has. */
interface Entry {
  /** 0 while it has had nothing. */
  readonly revision: number;
  readonly keys: readonly StoredKey[] | undefined;
  /** Why what is there can't be used. */
  readonly problem?: RepriseError;
  /** An answer of the broker that a process which may not write the bucket has had stored there, in place of what was there. */
  readonly isForged?: boolean;
}

interface Creation {
  readonly nowMs: UnixMs;
  readonly refuse: (forged: Entry) => void;
  /** For how long a forged entry is left to nodes that run. */
  readonly patienceMs: number;
}

/**
 * Of several nodes that start on a bucket without keys one creates a key, and the others find it. Where the bucket has a forged entry, nodes
 * that run store their keys again within ten periods; while none runs, a new key takes its place, and tokens of the keys before are refused.
 */
async function readOrCreate(
  connection: NatsConnection,
  bucket: KV,
  { nowMs, refuse, patienceMs }: Creation,
): Promise<Current> {
  const keys = [await createKey(nowMs)];
  const patientUntil = performance.now() + patienceMs;
  const attempt = async (): Promise<Current | undefined> => {
    const found = assertReplaceable(await read(connection));
    if (found.keys) return { keys: found.keys };
    refuse(found);
    if (found.isForged && performance.now() < patientUntil) return undefined;
    return (await write(bucket, keys, found.revision)) ? { keys } : undefined;
  };
  const opened = await retry(attempt, { pauseMs: RACE_PAUSE_MS, budgetMs: patienceMs + RACE_BUDGET_MS });
  if (opened) return opened;
  throw new RepriseError("broker_unavailable", `The bucket ${TOKEN_KEYS_BUCKET} keeps changing.`);
}

/** The bucket's client does not tell a copy of another message from an entry, so its stream's leader is asked. */
async function read(connection: NatsConnection): Promise<Entry> {
  const last = await readLastRaw(connection, bucketStream(TOKEN_KEYS_BUCKET), SUBJECT);
  if (!last) return { revision: 0, keys: undefined };
  const { streamSeq: revision, payload, isPublished } = last;
  if (!isPublished) return { revision, keys: undefined, problem: notPublished(SUBJECT), isForged: true };
  // So an entry is removed.
  if (payload.length === 0) return { revision, keys: undefined };
  const keys = decode(new TextDecoder().decode(payload));
  return keys ? { revision, keys } : { revision, keys, problem: unreadable() };
}

/** @throws RepriseError `config_invalid` for keys of a version that this one does not read */
function assertReplaceable(entry: Entry): Entry {
  if (entry.problem && entry.isForged !== true) throw entry.problem;
  return entry;
}

/** @returns false when the entry is not the expected one any more */
async function write(bucket: KV, keys: readonly StoredKey[], expectedRevision: number): Promise<boolean> {
  try {
    await bucket.put(ENTRY, encode(keys), { previousSeq: expectedRevision });
    return true;
  } catch (error) {
    if (isRefusal(error, "wrongLastSequence") || isRefusal(error, "earlierPublishInFlight")) return false;
    throw error;
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

function decode(text: string): readonly StoredKey[] | undefined {
  return entrySchema.safeParse(parse(text)).data?.keys;
}

/** No message and no cause holds what was read: it is a private key. */
function unreadable(): RepriseError {
  return new RepriseError(
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
