import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import { isRefusal, notPublished, type OnStale, readLastRaw, RefreshLoop } from "@reprise/broker";
import {
  bucketStream,
  bucketSubjects,
  NEVER,
  RepriseError,
  TOKEN_KEYS_BUCKET,
  type UnixMs,
  unixNow,
  toUnixMs,
} from "@reprise/protocol";
import type { CryptoKey } from "jose";
import {
  createPlatformKey,
  decodePlatformKeys,
  encodePlatformKeys,
  endOfPlatformKey,
  type PlatformKeyRecord,
  platformKeyToSignWith,
  type PlatformKeyView,
  viewPlatformKeys,
  withPlatformKey,
} from "./platform-key-record.ts";
import type { PublicKey } from "./public-key.ts";
import { importPrivateKey, type PrivateKey, toPublicKey } from "./signing-key.ts";

const ENTRY = "platform";
const SUBJECT = bucketSubjects(TOKEN_KEYS_BUCKET).replace(">", ENTRY);

const DAY_MS = 86_400_000;
/** After how long a key is replaced. */
const ROTATE_AFTER_MS = 30 * DAY_MS;
const SWEEP_MS = 3_600_000;
/** Another node that creates a key at the same moment is waited for. */
const RACE_PAUSE_MS = 20;
const RACE_BUDGET_MS = 5_000;
const EVERY_MS = 500;
/** Periods after which a running node has found a forged entry, and has stored its keys again. */
const PATIENT_PERIODS = 10;

export interface PlatformKeys extends Disposable {
  /** The key to sign with now. */
  signingKey(): Promise<{ readonly keyId: string; readonly privateKey: CryptoKey }>;
  /** The public key with this id, and from when on its tokens are refused. */
  find(keyId: string): { readonly publicKey: PublicKey; readonly expiresAtMs: UnixMs } | undefined;
  /** The keys that this node knows, oldest first, without their private parts. */
  list(): PlatformKeyView[];
  /**
   * Adds a key, which this node knows at once and every other one within a second.
   * @param overlapMs for how long tokens of the earlier keys still count, 0 for no time at all; default: until each has expired
   * @throws RepriseError `broker_unavailable`, `limit_exceeded` with more than 16 keys whose tokens still count
   */
  rotate(overlapMs?: number): Promise<PlatformKeyView>;
  /** Calls a listener when the keys have changed, until what is returned is called. */
  onChange(listener: () => void): () => void;
  close(): void;
}

export interface PlatformKeysOptions {
  readonly connection: NatsConnection;
  readonly replicas: number;
  readonly onError: (error: unknown) => void;
  /** Told when the bucket can't be read for `staleMs`, and when it can again. */
  readonly onStale?: OnStale | undefined;
  readonly now?: () => UnixMs;
  /** Milliseconds between two reads of the bucket. Default 500 ms. */
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
  const listeners = new Set<() => void>();
  const obey = (keys: readonly PlatformKeyRecord[]) => {
    // Keys that are the same stay the same objects, by which their import is remembered.
    if (encodePlatformKeys(keys) === encodePlatformKeys(current.keys)) return;
    current = { keys };
    for (const listener of listeners) listener();
  };
  const readAgain = async () => {
    const entry = await read(connection);
    // Without a usable entry this node continues with the keys that it has.
    if (entry.keys) obey(entry.keys);
    else refuse(entry);
    // A node that starts finds the keys again.
    if (entry.isForged) await write(bucket, current.keys, entry.revision);
  };
  const what = "the keys of stream tokens";
  const refresh = new RefreshLoop({ connection, what, read: readAgain, onStale, everyMs, staleMs });

  const rotate = (overlapMs?: number) =>
    guard(async () => {
      const latest = assertReplaceable(await read(connection));
      const made = await createPlatformKey(now());
      const keys = withPlatformKey(latest.keys ?? current.keys, { made, nowMs: now(), overlapMs });
      if (!(await write(bucket, keys, latest.revision)))
        throw new RepriseError("broker_unavailable", "Another node has changed the keys meanwhile.");
      // After a read that was under way before the write.
      await refresh.sync();
      return { kid: made.kid, created_at: made.created_at };
    });
  const rotateIfDue = async () => {
    const newest = current.keys.at(-1);
    if (newest && now() - toUnixMs(newest.created_at) >= ROTATE_AFTER_MS) await rotate();
  };
  const sweep = setInterval(() => void rotateIfDue().catch(onError), SWEEP_MS).unref();
  const close = () => {
    clearInterval(sweep);
    void refresh.close();
  };
  return {
    async signingKey() {
      const key = platformKeyToSignWith(current.keys, now());
      if (!key) throw new RepriseError("internal", "There is no key to sign tokens with.");
      return { keyId: key.kid, privateKey: await importOnce(key.private_jwk) };
    },
    find(keyId) {
      const key = current.keys.find(({ kid }) => kid === keyId);
      const expiresAtMs = key && (endOfPlatformKey(current.keys, key) ?? NEVER);
      if (!key || expiresAtMs === undefined || expiresAtMs <= now()) return undefined;
      return { publicKey: publicOnce(key.private_jwk), expiresAtMs };
    },
    list: () => viewPlatformKeys(current.keys),
    rotate,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close,
    [Symbol.dispose]: close,
  };
}

interface Current {
  readonly keys: readonly PlatformKeyRecord[];
}

/** The bucket's content. */
interface Entry {
  /** 0 while it has had nothing. */
  readonly revision: number;
  readonly keys: readonly PlatformKeyRecord[] | undefined;
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
 * Reads the keys, or creates the first one. Of several nodes that start on a bucket without keys, one creates a key, and the others find it. If the bucket has
 * a forged entry, running nodes store their keys again within ten periods. If none runs, a new key replaces it, and tokens of the earlier keys are refused.
 */
async function readOrCreate(
  connection: NatsConnection,
  bucket: KV,
  { nowMs, refuse, patienceMs }: Creation,
): Promise<Current> {
  const keys = [await createPlatformKey(nowMs)];
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
  const keys = decodePlatformKeys(new TextDecoder().decode(payload));
  return keys ? { revision, keys } : { revision, keys, problem: unreadable() };
}

/** @throws RepriseError `config_invalid` for keys of a version that this one does not read */
function assertReplaceable(entry: Entry): Entry {
  if (entry.problem && entry.isForged !== true) throw entry.problem;
  return entry;
}

/** @returns false when the entry is not the expected one any more */
async function write(
  bucket: KV,
  keys: readonly PlatformKeyRecord[],
  expectedRevision: number,
): Promise<boolean> {
  try {
    await bucket.put(ENTRY, encodePlatformKeys(keys), { previousSeq: expectedRevision });
    return true;
  } catch (error) {
    if (isRefusal(error, "wrongLastSequence") || isRefusal(error, "earlierPublishInFlight")) return false;
    throw error;
  }
}

/** No message and no cause holds what was read: it is a private key. */
function unreadable(): RepriseError {
  return new RepriseError(
    "config_invalid",
    `The bucket ${TOKEN_KEYS_BUCKET} holds no keys that this version reads.`,
  );
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
