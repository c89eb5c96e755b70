// An archiver that kills itself: node crashing-archiver.ts <NATS URL> <folder> <shards> <calls of the stores until then> <before|after>
import { join } from "node:path";
import { createFileStore, createNoteKey, openArchive, openKeyring, type BlobStore } from "@reprise/archive";
import * as blobs from "@reprise/blobs";
import { connectBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { GenerationKeys } from "../../archiving/generation-keys.ts";
import { archiveLane } from "../../archiving/lane/lane-archiver.ts";
import { laneStreams } from "../../archiving/lane/lane-kind.ts";
import { MASTER_KEY, SIGNING_SEED } from "../test-keys.ts";

// Ends with the test that has started it.
process.stdin
  .on("close", () => process.kill(process.pid, "SIGKILL"))
  .resume()
  .unref();

const [url = "", dir = "", shards = "1", calls = "0", when = "before"] = process.argv.slice(2);
const crash = { calls: Number(calls), when };
const store = createCrashingStore(createFileStore(join(dir, "archive")), crash);
const keyStore = createCrashingStore(createFileStore(join(dir, "keys")), crash);

const onError = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
const broker = await connectBroker({ url, name: "crashing" });
const keyring = await openKeyring({ store: keyStore, masterKey: MASTER_KEY });
const signer = createNoteKey("test", SIGNING_SEED);
const archive = await openArchive({
  store,
  name: "test",
  writer: { name: `process-${process.pid}`, signer, onError },
});
const keys = new GenerationKeys(archive, keyring);
const { publish } = createGenerationLog(broker);
const copies = { storage: blobs.createBlobStorage({ broker, publish }), isWanted: () => true };
const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());
process.stdout.write("archiving\n");
const ends = await Promise.all(
  laneStreams(Number(shards)).map((stream) =>
    archiveLane(
      {
        connection: broker.reads,
        archive,
        store,
        keyring,
        keys,
        copies,
        stream,
        limits: { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 },
        onCommitted: () => {},
        onError,
      },
      stop.signal,
    ),
  ),
);
process.stdout.write(`${ends.join(" ")}\n`);
await broker.close();

/** After how many calls that change something the process dies, and on which side of the last one. Shared by the stores of a process. */
interface Crash {
  calls: number;
  readonly when: string;
}

/** A store that kills its process, as a power switch would, in the middle of other work. 0 calls are none. */
function createCrashingStore(inner: BlobStore, end: Crash): BlobStore {
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    end.calls--;
    const isLast = end.calls === 0;
    if (isLast && end.when === "before") await die();
    const result = await work();
    if (isLast) await die();
    return result;
  };
  return {
    get: (key, range) => inner.get(key, range),
    list: (prefix) => inner.list(prefix),
    put: (key, bytes) => around(() => inner.put(key, bytes)),
    create: (key, bytes) => around(() => inner.create(key, bytes)),
    delete: (key) => around(() => inner.delete(key)),
  };
}

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}
