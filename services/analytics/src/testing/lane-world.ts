import type { BlobStore } from "@reprise/archive";
import { retry } from "@reprise/async";
import type { BatchLimits } from "@reprise/facts/lane";
import { type Broker, createWriterName, openBroker, readAllMessages } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { GenerationFold, type GenerationRow } from "@reprise/facts";
import {
  encodeOpsRecord,
  generationsStream,
  type GenerationRef,
  logSubject,
  OPS_STREAM,
  type OpsRecord,
  opsSubject,
  STREAM_START,
} from "@reprise/protocol";
import type { Tracing } from "@reprise/runtime/telemetry";
import { PATIENCE_MS, startStoredBroker, type StoredBroker } from "@reprise/testkit";
import type { RowSource } from "../facts/row-source.ts";
import type { FactStore } from "../facts/fact-store.ts";
import { type CommittedBatch, runLogLane } from "../lanes/log-lane.ts";
import { type CommittedDeliveries, runOpsLane } from "../lanes/ops-lane.ts";
import { keepErrors } from "./keep-errors.ts";
import { type OpenFacts, openFacts } from "./open-facts.ts";

const STREAM = generationsStream(0);
const KEYS = ["plan"];
const HOUR_MS = 3_600_000;
const SMALL: BatchLimits = { maxMessages: 7, maxAgeMs: 30, maxBytes: 1_000_000 };

/** A broker whose store can be rolled back, and commits that stay when a lane ends. */
export interface LaneWorld extends AsyncDisposable {
  readonly server: StoredBroker;
  readonly broker: Broker;
  readonly facts: FactStore;
  readonly rowSource: RowSource;
  readonly store: BlobStore;
  /** `OpenFacts` */
  dying: OpenFacts["dying"];
  /** Stores the next event of a log. */
  append(ref: GenerationRef, payload: Uint8Array): Promise<void>;
  /** Folds the stream, until it is stopped. */
  start(options?: LaneRunOptions & { readonly onCommitted?: (batch: CommittedBatch) => void }): RunningLane;
  /** Stores a record of OPS. */
  record(ref: GenerationRef, record: OpsRecord): Promise<void>;
  /** Makes rows of OPS, until it is stopped. */
  startOps(options?: LaneRunOptions): RunningOps;
  /** Deletes what lies before a place of the stream, as its expiry would. */
  purgeBefore(streamSeq: number): Promise<void>;
  /** Deletes the stream, and creates it again. */
  makeStreamAnew(): Promise<void>;
  /** Returns the rows that all lanes have committed. */
  rows(): Promise<GenerationRow[]>;
  /** Folds the whole log as stored in the stream. */
  foldStored(ref: GenerationRef): Promise<GenerationRow | undefined>;
}

export interface LaneRunOptions {
  readonly facts?: FactStore;
  readonly limits?: BatchLimits;
  readonly tracing?: Tracing;
}

export interface RunningLane extends AsyncDisposable {
  readonly errors: readonly unknown[];
  readonly batches: readonly CommittedBatch[];
  readonly done: Promise<"stopped" | "fenced">;
  stop(): Promise<void>;
}

export interface RunningOps extends AsyncDisposable {
  readonly errors: readonly unknown[];
  readonly batches: readonly CommittedDeliveries[];
  readonly done: Promise<"stopped" | "fenced">;
  stop(): Promise<void>;
}

/** @param retentionMs of the logs. Default: an hour. With a minute all that is gone may have expired */
export async function openLaneWorld({
  retentionMs = HOUR_MS,
}: { readonly retentionMs?: number } = {}): Promise<LaneWorld> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startStoredBroker());
  const { facts, rows, store, dying } = stack.use(await openFacts());
  const topology = { shards: 1, replicas: 1, retentionMs };
  const broker = stack.use(await openBroker({ url: server.url, name: "test", ...topology }));
  const log = createGenerationLog(broker);
  const askStream = async (call: string, request: object) => {
    const subject = `$JS.API.STREAM.${call}.${STREAM}`;
    const answer = await broker.main.request(subject, JSON.stringify(request), { timeout: PATIENCE_MS });
    const { error } = answer.json<{ error?: { description: string } }>();
    if (error) throw new Error(error.description);
  };
  const append = async (subject: string, payload: Uint8Array) => {
    // One name for all tries: what was stored without an answer is not stored again.
    const options = { messageId: createWriterName(), timeoutMs: PATIENCE_MS };
    const tryOnce = async () => {
      const { kind } = await log.publish(subject, payload, options);
      if (kind !== "stored" && kind !== "unavailable") throw new Error(kind);
      return kind === "stored" || undefined;
    };
    if (!(await retry(tryOnce, { pauseMs: 50, budgetMs: PATIENCE_MS })))
      throw new Error("The broker is away.");
  };
  const kept = stack.move();
  return {
    server,
    broker,
    facts,
    rowSource: rows,
    store,
    dying,
    append: (ref, payload) => append(logSubject(ref), payload),
    record: ({ tenant, generation }, record) =>
      append(opsSubject(record.kind, tenant, generation), encodeOpsRecord(record)),
    startOps({ facts: own = facts, limits = SMALL, tracing } = {}) {
      const errors: unknown[] = [];
      const batches: CommittedDeliveries[] = [];
      const stop = new AbortController();
      const options = {
        connection: broker.reads,
        stream: OPS_STREAM,
        facts: own.deliveries(OPS_STREAM),
        limits,
        closeMs: 100,
        tracing,
        onCommitted: (batch: CommittedDeliveries) => batches.push(batch),
        onError: keepErrors(errors),
      };
      const done = runOpsLane(options, stop.signal);
      const end = async () => {
        stop.abort();
        await done;
      };
      return { errors, batches, done, stop: end, [Symbol.asyncDispose]: end };
    },
    start({ facts: own = facts, limits = SMALL, tracing, onCommitted } = {}) {
      const errors: unknown[] = [];
      const batches: CommittedBatch[] = [];
      const stop = new AbortController();
      const done = runLogLane(
        {
          connection: broker.reads,
          stream: STREAM,
          facts: own.lane(STREAM),
          keys: KEYS,
          limits,
          closeMs: 100,
          tracing,
          onCommitted(batch) {
            batches.push(batch);
            onCommitted?.(batch);
          },
          onError: keepErrors(errors),
        },
        stop.signal,
      );
      const end = async () => {
        stop.abort();
        await done;
      };
      return { errors, batches, done, stop: end, [Symbol.asyncDispose]: end };
    },
    purgeBefore: (streamSeq) => askStream("PURGE", { seq: streamSeq }),
    async makeStreamAnew() {
      await askStream("DELETE", {});
      await (await openBroker({ url: server.url, name: "again", ...topology })).close();
    },
    async rows() {
      const all = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 1_000_000 };
      return (await rows.page(all)).toReversed();
    },
    async foldStored(ref) {
      const fold = GenerationFold.begin(ref);
      const subject = logSubject(ref);
      const from = { afterStreamSeq: STREAM_START, maxMessages: 1_000, maxBytes: 1_000_000, subject };
      for await (const { payload, storedAtUs } of readAllMessages(broker.reads, STREAM, from))
        fold.feed(payload, storedAtUs, KEYS);
      return fold.hasEnded ? fold.toRow() : undefined;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
