import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  type Archive,
  type BlobStore,
  createFileStore,
  createNoteKey,
  type Keyring,
  type Lane,
  openArchive,
  openKeyring,
} from "@reprise/archive";
import { type Broker, createWriterName, openBroker } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import {
  encodeEvent,
  type EventDraft,
  generationsStream,
  type GenerationRef,
  logSubject,
  asSeq,
} from "@reprise/protocol";
import type { Tracing } from "@reprise/runtime/telemetry";
import { createTempDir, PATIENCE_MS, startStoredBroker, type StoredBroker } from "@reprise/testkit";
import { GenerationKeys } from "../../archiving/generation-keys.ts";
import { archiveLane } from "../../archiving/lane/lane-archiver.ts";
import type { BatchLimits } from "@reprise/facts/lane";
import { verify } from "../../cli/commands/verify.ts";
import { runCommand } from "../run-command.ts";
import { keepErrors } from "../keep-errors.ts";
import { MASTER_KEY, SIGNING_SEED } from "../test-keys.ts";

/** The only stream of logs. */
export const STREAM = generationsStream(0);
const HOUR_MS = 3_600_000;
const RETRY_MS = 50;
const SMALL: BatchLimits = { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 };

/** One archiver of one stream, a broker whose store can be rolled back, and files that stay when the archiver ends. */
export interface LaneWorld extends AsyncDisposable {
  readonly server: StoredBroker;
  readonly broker: Broker;
  readonly dir: string;
  readonly store: BlobStore;
  /** Stores events of a log from a `seq` on, however long the broker is away. */
  write(ref: GenerationRef, fromSeq: number, drafts: readonly EventDraft[]): Promise<void>;
  publish(subject: string, payload: Uint8Array): Promise<void>;
  /** Deletes what lies before a place of the stream, as its expiry would. */
  purgeBefore(streamSeq: number): Promise<void>;
  /** Deletes the stream, and creates it again. */
  makeStreamAnew(): Promise<void>;
  startArchiver(options?: {
    limits?: BatchLimits;
    onCommitted?: () => void;
    tracing?: Tracing;
  }): Promise<RunningLane>;
  openKeyring(): Promise<Keyring>;
  /** Runs `reprise-audit verify`. @returns its exit code, and what it says of gaps */
  verify(): Promise<{ code: number; gaps: readonly string[] }>;
}

export interface RunningLane extends AsyncDisposable {
  readonly archive: Archive;
  readonly errors: readonly unknown[];
  /** Resolves with the lane as soon as a commit has made it so. */
  until(holds: (lane: Lane) => boolean): Promise<Lane>;
  /** Archives what was read. */
  stop(): Promise<void>;
}

/** @param options the stream that is archived, by default that of logs, and for how long the broker keeps it */
export async function openLaneWorld({ stream = STREAM, retentionMs = HOUR_MS } = {}): Promise<LaneWorld> {
  const topology = { shards: 1, replicas: 1, retentionMs };
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startStoredBroker());
  const { path: dir } = stack.use(await createTempDir("lane"));
  const broker = stack.use(await openBroker({ url: server.url, name: "test", ...topology }));
  const log = createGenerationLog(broker);
  const store = createFileStore(join(dir, "archive"));
  const keysDir = join(dir, "keys");
  const keyring = () =>
    openKeyring({ store: createFileStore(join(keysDir, "wrapped")), masterKey: MASTER_KEY });
  const askStream = async (call: string, request: object) => {
    const subject = `$JS.API.STREAM.${call}.${stream}`;
    const answer = await broker.main.request(subject, JSON.stringify(request), { timeout: PATIENCE_MS });
    const { error } = answer.json<{ error?: { description: string } }>();
    if (error) throw new Error(error.description);
  };
  const publish = async (subject: string, payload: Uint8Array) => {
    // One name for all tries: what was stored without an answer is not stored again. The broker forgets it after a second.
    const options = { messageId: createWriterName(), timeoutMs: PATIENCE_MS };
    for (;;) {
      const outcome = await log.publish(subject, payload, options);
      if (outcome.kind === "stored") return;
      if (outcome.kind !== "unavailable") throw new Error(outcome.kind);
      await pause(RETRY_MS);
    }
  };
  const kept = stack.move();
  return {
    server,
    broker,
    dir,
    store,
    publish,
    async write(ref, fromSeq, drafts) {
      for (const [i, draft] of drafts.entries())
        await publish(logSubject(ref), encodeEvent(asSeq(fromSeq + i), draft));
    },
    purgeBefore: (streamSeq) => askStream("PURGE", { seq: streamSeq }),
    async makeStreamAnew() {
      await askStream("DELETE", {});
      const again = await openBroker({ url: server.url, name: "again", ...topology });
      await again.close();
    },
    openKeyring: keyring,
    async startArchiver({ limits = SMALL, onCommitted, tracing } = {}) {
      const errors: unknown[] = [];
      const onError = keepErrors(errors);
      const writer = { name: createWriterName(), signer: createNoteKey("test", SIGNING_SEED), onError };
      const archive = await openArchive({ store, name: "test", writer });
      const keys = await keyring();
      const waiting = new Set<() => void>();
      // The archive itself knows of a commit before its checkpoint is there.
      let committed: Lane | undefined;
      const stopping = new AbortController();
      const running = archiveLane(
        {
          connection: broker.reads,
          archive,
          store,
          keyring: keys,
          keys: new GenerationKeys(archive, keys),
          stream,
          limits,
          tracing,
          onError,
          onCommitted() {
            committed = archive.state.lanes.get(stream);
            onCommitted?.();
            for (const look of waiting) look();
          },
        },
        stopping.signal,
      );
      const stop = async () => {
        stopping.abort();
        await running;
      };
      return {
        archive,
        errors,
        until: (holds) =>
          new Promise((resolve) => {
            const look = () => {
              if (!committed || !holds(committed)) return;
              waiting.delete(look);
              resolve(committed);
            };
            waiting.add(look);
            look();
          }),
        stop,
        [Symbol.asyncDispose]: stop,
      };
    },
    async verify() {
      const where = ["--archive", join(dir, "archive"), "--keys", keysDir, "--name", "test"];
      const keys = ["--vkey", createNoteKey("test", SIGNING_SEED).vkey];
      const env = { REPRISE_AUDIT_MASTER_KEY: MASTER_KEY.toString("hex") };
      const { code, out } = await runCommand(verify, [...where, ...keys], env);
      return { code, gaps: out.split("\n").filter((line) => line.startsWith("gap ")) };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
