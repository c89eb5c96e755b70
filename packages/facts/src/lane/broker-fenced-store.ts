import { createHash } from "node:crypto";
import { assertObjectKey, type BlobStore } from "@reprise/archive";
import { retry } from "@reprise/async";
import { type Broker, notPublished, type Publish, readRawFromLeader } from "@reprise/broker";
import { COMMITS_STREAM, commitSubject, RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";

export interface BrokerFence {
  readonly broker: Pick<Broker, "main">;
  readonly publish: Publish;
  /** Its name. No two archives that one broker fences have the same. */
  readonly archive: string;
  /** Called with each message in a claim's place that no process has published. */
  readonly onError: (error: unknown) => void;
}

const TIMEOUT_MS = 5_000;
/** Budget for a claim after messages that no process has published, while more of them come. */
const PASS_BUDGET_MS = 5_000;
const PASS_PAUSE_MS = 10;
/** A claim's first byte: the object's bytes follow, or the key under which they are put aside. */
const [WHOLE, ASIDE] = [0, 1];
/** Larger objects are put aside: the broker has to take the claim, and to return it in base64. */
const MAX_WHOLE_BYTES = 256 * 1_024;

/**
 * Makes a store that can't create exclusively fit for commits: the broker decides which writer was first. `create` claims the key at the broker, with the
 * bytes, under a subject of its own; the first writer puts them into the store. The second writer also puts the first one's bytes into the store, because
 * the first may have died in between: so each claim has its object, and all see the same object.
 *
 * The first claim that a process has published counts. A compromised service can have the broker store an answer under the subject, before or after that
 * claim. An answer after it replaces nothing, because the stream keeps all messages of a subject. If the answer comes before it, the claim expects that
 * answer as the last message: no claim lies between the writer's read and its own claim.
 *
 * Only for keys of commits. A key may be created again only with the same bytes, even after it was deleted. Once the broker has dropped a claim, after its
 * retention, the store's object counts.
 */
export function createBrokerFencedStore(store: BlobStore, fence: BrokerFence): BlobStore {
  const create: BlobStore["create"] = async (key, bytes) => {
    const { claim, aside } = toClaim(bytes);
    if (aside !== undefined) await store.put(aside, bytes);
    const first = await claimKey(fence, assertObjectKey(key), claim);
    // What the broker has forgotten since, the store knows.
    let there = await store.get(key);
    if (!there) {
      there = first === claim ? bytes : await readClaimed(store, key, first);
      await store.put(key, there);
    }
    if (aside !== undefined) await store.delete(aside);
    return Buffer.compare(there, bytes) === 0 ? "created" : "exists";
  };
  return {
    create,
    get: (key, range) => store.get(key, range),
    put: (key, bytes) => store.put(key, bytes),
    list: (prefix, after) => store.list(prefix, after),
    delete: (key) => store.delete(key),
  };
}

function toClaim(bytes: Uint8Array): { claim: Uint8Array; aside?: string } {
  if (bytes.length <= MAX_WHOLE_BYTES) return { claim: Buffer.concat([Buffer.of(WHOLE), bytes]) };
  const aside = `_claim/${createHash("sha256").update(bytes).digest("hex")}`;
  return { claim: Buffer.concat([Buffer.of(ASIDE), Buffer.from(aside)]), aside };
}

/** @returns the claim that was first: this one itself, or another writer's */
async function claimKey(
  { broker, publish, archive, onError }: BrokerFence,
  key: string,
  claim: Uint8Array,
): Promise<Uint8Array> {
  const subject = commitSubject(archive, key);
  let expectedLast: StreamSeq = STREAM_START;
  const attempt = async (): Promise<Uint8Array | undefined> => {
    const outcome = await publish(subject, claim, { expectedLast, timeoutMs: TIMEOUT_MS });
    if (outcome.kind === "stored") return claim;
    if (outcome.kind === "unavailable") throw unavailable(`does not say who may create ${key}`);
    const passed = expectedLast;
    try {
      const after = { afterStreamSeq: passed, subject };
      for await (const message of readRawFromLeader(broker.main, COMMITS_STREAM, after)) {
        if (message.isPublished) return message.payload;
        onError(notPublished(subject));
        expectedLast = message.streamSeq;
      }
    } catch (cause) {
      throw unavailable(`does not say who has created ${key}`, cause);
    }
    if (expectedLast === passed) throw unavailable(`has forgotten who has created ${key}`);
    return undefined;
  };
  const first = await retry(attempt, { pauseMs: PASS_PAUSE_MS, budgetMs: PASS_BUDGET_MS });
  if (first) return first;
  throw unavailable(`is made to store answers of its own in place of ${key}`);
}

/** The bytes that a claim of another writer is for. */
async function readClaimed(store: BlobStore, key: string, claim: Uint8Array): Promise<Uint8Array> {
  const bytes = claim.subarray(1);
  if (claim[0] === WHOLE) return bytes;
  // The first writer deletes the bytes that it put aside once the object is there.
  const first = (await store.get(Buffer.from(bytes).toString())) ?? (await store.get(key));
  if (!first) throw unavailable(`says that ${key} was created, and its bytes are missing`);
  return first;
}

function unavailable(what: string, cause?: unknown): RepriseError {
  return new RepriseError("archive_unavailable", `The broker ${what}.`, { cause });
}
