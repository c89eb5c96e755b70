// An archiver that kills itself: node crashing-archiver.ts <NATS URL> <folder> <shards> <calls of the stores until then> <before|after>
import { join } from "node:path";
import { createFileStore, createNoteKey, openArchive, openKeyring } from "@reprise/archive";
import * as blobs from "@reprise/blobs";
import { connectBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { GenerationKeys } from "../../archiving/generation-keys.ts";
import { archiveLane } from "../../archiving/lane/lane-archiver.ts";
import { laneStreams } from "../../archiving/lane/lane-kind.ts";
import { createCrashingStore } from "./crashing-store.ts";
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
