import { join } from "node:path";
import {
  type Archive,
  type BlobStore,
  createFileStore,
  createNoteKey,
  type Finding,
  type Keyring,
  openArchive,
  openKeyring,
} from "@reprise/archive";
import { Appender, createGenerationLog, type GenerationLog, headOf } from "@reprise/stream";
import { createWriterName, openBroker } from "@reprise/broker";
import {
  type EventDraft,
  type GenerationRef,
  type GenerationRequest,
  isTerminal,
  asStreamSeq,
} from "@reprise/protocol";
import {
  createTempDir,
  eventually,
  requested,
  startStoredBroker,
  type StoredBroker,
  PATIENCE_MS,
} from "@reprise/testkit";
import { GenerationKeys } from "../../archiving/generation-keys.ts";
import type { CopySource } from "../../copies/copy-blobs.ts";
import { archiveLane } from "../../archiving/lane/lane-archiver.ts";
import { laneStreams } from "../../archiving/lane/lane-kind.ts";
import type { LifecycleContext, LiveStreams } from "../../lifecycle/lifecycle-context.ts";
import { readableTexts } from "../search-stores.ts";
import { verifyStore } from "../verify-store.ts";
import { keepErrors } from "../keep-errors.ts";
import { MASTER_KEY, SIGNING_SEED } from "../test-keys.ts";

const SHARDS = 1;
const HOUR_MS = 3_600_000;
/** A keyring checks after 10 s whether a key was destroyed: in these tests after a tenth of one. */
const CLOCK_RATE = 100;
export const SETTLE_MS = 150;

/** A broker, an archive of it, and processes that work with both. */
export interface LifecycleWorld extends AsyncDisposable {
  readonly server: StoredBroker;
  readonly live: LiveStreams;
  readonly dir: string;
  readonly store: BlobStore;
  readonly errors: unknown[];
  /** Opens the context of another process: its own view of the archive, its own keys in memory. */
  openContext(overrides?: { store?: BlobStore; keyStore?: BlobStore }): Promise<LifecycleContext>;
  keyStore(): BlobStore;
  /**
   * Archives streams, by default all, as a process of its own.
   * @param copies where it has the content of blobs from: by default it copies none
   * @param clockRate how much faster its keyring's clock runs
   */
  startArchiver(options?: {
    store?: BlobStore;
    clockRate?: number;
    streams?: readonly string[];
    copies?: CopySource;
  }): Promise<RunningArchiver>;
}

export interface RunningArchiver extends AsyncDisposable {
  readonly archive: Archive;
  readonly keyring: Keyring;
  /** Archives what was read. */
  stop(): Promise<void>;
}

export async function openLifecycleWorld(): Promise<LifecycleWorld> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startStoredBroker({ syncInterval: "1s" }));
  const { path: dir } = stack.use(await createTempDir("lifecycle"));
  const topology = { shards: SHARDS, replicas: 1, retentionMs: HOUR_MS };
  const errors: unknown[] = [];
  const onError = keepErrors(errors);
  const broker = stack.use(await openBroker({ url: server.url, name: "test", onError, ...topology }));
  const log = createPatientLog(createGenerationLog(broker));
  const live = { broker, log, shards: SHARDS };
  const store = createFileStore(join(dir, "archive"));
  const keyStore = () => createFileStore(join(dir, "keys"));
  const signer = createNoteKey("test", SIGNING_SEED);
  let processes = 0;

  const open = async (own: BlobStore, keys: BlobStore, clockRate = CLOCK_RATE) => ({
    archive: await openArchive({
      store: own,
      name: "test",
      writer: { name: `process-${processes++}`, signer, onError },
    }),
    keyring: await openKeyring({
      store: keys,
      masterKey: MASTER_KEY,
      now: () => performance.now() * clockRate,
    }),
  });
  const kept = stack.move();
  return {
    server,
    live,
    dir,
    store,
    errors,
    keyStore,
    openContext: async (overrides = {}) => {
      const own = overrides.store ?? store;
      return { ...(await open(own, overrides.keyStore ?? keyStore())), store: own, live };
    },
    async startArchiver({ store: own = store, clockRate, streams = laneStreams(SHARDS), copies } = {}) {
      const { archive, keyring } = await open(own, keyStore(), clockRate);
      const keys = new GenerationKeys(archive, keyring);
      const limits = { maxMessages: 50, maxAgeMs: 50, maxBytes: 1_000_000 };
      const context = { connection: broker.reads, archive, store: own, keyring, keys, limits, copies };
      const stopping = new AbortController();
      const lanes = streams.map((stream) =>
        archiveLane({ ...context, stream, onCommitted: () => {}, onError }, stopping.signal),
      );
      const stop = async () => {
        stopping.abort();
        await Promise.all(lanes);
      };
      return { archive, keyring, stop, [Symbol.asyncDispose]: stop };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** A worker's writer, which gives up when another process ends the log. */
function writerOf(log: GenerationLog, ref: GenerationRef): Appender {
  const { publish, leader } = log;
  return new Appender({
    publish,
    leader,
    ref,
    head: headOf({ events: [], streamSeq: asStreamSeq(0) }),
    writer: createWriterName(),
    isFence: ({ type }) => isTerminal(type),
  });
}

export async function writeLog(
  log: GenerationLog,
  ref: GenerationRef,
  request: Partial<GenerationRequest>,
  drafts: readonly EventDraft[],
): Promise<Appender> {
  const writer = writerOf(log, ref);
  for (const draft of [requested(ref, request), ...drafts]) {
    writer.append(draft);
    await writer.settled();
  }
  return writer;
}

/** Resolves once the archive has a text that its keys open. */
export async function archivedUpTo(world: LifecycleWorld, text: string): Promise<void> {
  const { keyring } = await world.openContext();
  await eventually(async () => {
    const texts = await readableTexts(world.store, keyring);
    if (!texts.some((one) => one.includes(text))) throw new Error("not archived yet");
  });
}

/** Returns the findings of `verify` in the archive. */
export function findingsIn(world: LifecycleWorld): Promise<readonly Finding[]> {
  return verifyStore(world.store);
}

/** A log over a broker with which nothing is wrong, but which takes its time on a busy machine. */
function createPatientLog(log: GenerationLog): GenerationLog {
  return {
    ...log,
    publish: (subject, payload, options) =>
      log.publish(subject, payload, { timeoutMs: PATIENCE_MS, ...options }),
    publishCheckpoint: (subject, payload, options) =>
      log.publishCheckpoint(subject, payload, { timeoutMs: PATIENCE_MS, ...options }),
    leader: {
      readTail: (...of) => eventually(() => log.leader.readTail(...of)),
      readLast: (ref) => eventually(() => log.leader.readLast(ref)),
    },
    get connected() {
      return log.connected;
    },
  };
}
