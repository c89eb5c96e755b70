import type { BlobStore } from "@reprise/archive";
import { COMMITS_STREAM, commitSubject, RepriseError } from "@reprise/protocol";
import { type Broker, type Publish, readLastMessage } from "@reprise/log";

/**
 * A store that can't create exclusively by itself, made fit for commits: the broker says who was first. What is created is said to the broker
 * first, whole, under a subject of its own, and then put into the store. Who comes second puts there what the first one has said: it may
 * have died in between.
 */
export function createBrokerFencedStore(
  store: BlobStore,
  { broker, publish, archive }: { broker: Broker; publish: Publish; archive: string },
): BlobStore {
  const create: BlobStore["create"] = async (key, bytes) => {
    const subject = commitSubject(archive, key);
    const outcome = await publish(subject, bytes, { expectedLast: 0, timeoutMs: 5_000 });
    if (outcome.kind === "unavailable") {
      throw new RepriseError("archive_unavailable", `The broker does not say who may create ${key}.`);
    }
    const first =
      outcome.kind === "stored" ? bytes : await readLastMessage(broker.main, COMMITS_STREAM, subject);
    if (!first) throw new RepriseError("archive_unavailable", `The broker has forgotten who created ${key}.`);
    // What the broker has forgotten since, the store knows.
    const there = (await store.get(key)) ?? (await putFirst(store, key, first));
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

async function putFirst(store: BlobStore, key: string, bytes: Uint8Array): Promise<Uint8Array> {
  await store.put(key, bytes);
  return bytes;
}
