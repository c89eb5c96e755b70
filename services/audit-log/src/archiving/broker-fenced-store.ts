import { createHash } from "node:crypto";
import { assertObjectKey, type BlobStore } from "@reprise/archive";
import { type Broker, type Publish, readLastMessage } from "@reprise/log";
import { COMMITS_STREAM, commitSubject, RepriseError, STREAM_START } from "@reprise/protocol";

export interface BrokerFence {
  readonly broker: Pick<Broker, "main">;
  readonly publish: Publish;
  /** Its name. No two archives that one broker fences have the same. */
  readonly archive: string;
}

const TIMEOUT_MS = 5_000;
/** A claim's first byte: the object's bytes follow, or the key under which they are put aside. */
const [WHOLE, ASIDE] = [0, 1];
/** What is larger is put aside: the broker has to take the claim, and to give it back in base64. */
const MAX_WHOLE_BYTES = 256 * 1_024;

/**
 * A store that can't create exclusively by itself, made fit for commits: the broker decides which was first. `create` claims the key at the
 * broker, with the bytes, under a subject of its own; the first writer puts them into the store. The second does that too,
 * with the bytes of the first, which may have died in between: so a claim never stands alone, and all see the same object.
 *
 * For keys of commits alone. A key may be created again only with the same bytes, even after it was deleted; and once the broker has
 * forgotten a claim, after its retention, the store's object is what counts.
 */
export function createBrokerFencedStore(store: BlobStore, fence: BrokerFence): BlobStore {
  const create: BlobStore["create"] = async (key, bytes) => {
    const subject = commitSubject(fence.archive, assertObjectKey(key));
    const { claim, aside } = toClaim(bytes);
    if (aside !== undefined) await store.put(aside, bytes);
    const outcome = await fence.publish(subject, claim, {
      expectedLast: STREAM_START,
      timeoutMs: TIMEOUT_MS,
    });
    if (outcome.kind === "unavailable") throw unavailable(`does not say who may create ${key}`);
    // What the broker has forgotten since, the store knows.
    let there = await store.get(key);
    if (!there) {
      there = outcome.kind === "stored" ? bytes : await readFirst(store, fence.broker, { key, subject });
      await store.put(key, there);
    }
    if (aside !== undefined) await store.delete(aside);
    return Buffer.compare(there, bytes) === 0 ? "created" : "exists";
  };
  return {
    create,
    get: (key, range) => store.get(key, range),
    put: (key, bytes) => store.put(key, bytes),
    list: (prefix) => store.list(prefix),
    delete: (key) => store.delete(key),
  };
}

function toClaim(bytes: Uint8Array): { claim: Uint8Array; aside?: string } {
  if (bytes.length <= MAX_WHOLE_BYTES) return { claim: Buffer.concat([Buffer.of(WHOLE), bytes]) };
  const aside = `_claim/${createHash("sha256").update(bytes).digest("hex")}`;
  return { claim: Buffer.concat([Buffer.of(ASIDE), Buffer.from(aside)]), aside };
}

/** The bytes of the first writer. */
async function readFirst(
  store: BlobStore,
  broker: BrokerFence["broker"],
  { key, subject }: { key: string; subject: string },
): Promise<Uint8Array> {
  const claim = await readLastMessage(broker.main, COMMITS_STREAM, subject).catch((cause: unknown) => {
    throw unavailable(`does not say who has created ${key}`, cause);
  });
  const bytes = claim?.subarray(1);
  if (!bytes) throw unavailable(`has forgotten who has created ${key}`);
  if (claim?.[0] === WHOLE) return bytes;
  // The first writer deletes the bytes that it put aside once the object is there.
  const first = (await store.get(Buffer.from(bytes).toString())) ?? (await store.get(key));
  if (!first) throw unavailable(`says that ${key} was created, and its bytes are missing`);
  return first;
}

function unavailable(what: string, cause?: unknown): RepriseError {
  return new RepriseError("archive_unavailable", `The broker ${what}.`, { cause });
}
