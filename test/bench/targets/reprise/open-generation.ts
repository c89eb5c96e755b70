import { randomBytes } from "node:crypto";
import { type Broker, connectBroker, createWriterName } from "@reprise/broker";
import {
  headOf,
  Appender,
  type Chunking,
  createCheckpointer,
  type GenerationLog,
  type StoredEvent,
  waitUntilBegun,
} from "@reprise/stream";
import {
  createGenerationId,
  DEFAULT_POLICY,
  type EffectiveModeration,
  encodeEvent,
  type GenerationId,
  type GenerationRef,
  isTerminal,
  liveSubject,
  logSubject,
  parseWorkerId,
  peekSeq,
  type TenantId,
  REQUEST_SEQ,
  STREAM_START,
} from "@reprise/protocol";

export interface GenerationOptions {
  broker: Broker;
  log: GenerationLog;
  tenant: TenantId;
  shards: number;
  /** Default none. */
  moderation?: EffectiveModeration | undefined;
  /** The pressure of the worker that appends. Default: deltas are never held. */
  chunking?: Chunking | undefined;
  /** A generation that delivery has queued, and whose request it is about to store. Default: a new one. */
  created?: GenerationId | undefined;
  /** Called for every event that is stored, after the checkpoint has it. */
  onStored?: (event: StoredEvent) => void;
}

export interface OpenGeneration {
  readonly id: GenerationId;
  readonly appender: Appender;
}

const WORKER = parseWorkerId("worker-bench");
/** Delivery stores a request right after it has queued it, but may be kept from the CPU. */
const REQUEST_WAIT_MS = 20_000;
const complain = (error: unknown) => console.error(error);

/**
 * A generation that has started: its request and `generation.started` are stored. The appender, the checkpoints and the
 * subscription to its own log are what a run of the inference-worker sets up.
 */
export async function openGeneration({
  broker,
  log,
  tenant,
  shards,
  moderation,
  chunking,
  created,
  onStored,
}: GenerationOptions): Promise<OpenGeneration> {
  const ref = { tenant, generation: created ?? createGenerationId(randomBytes(17), shards) };
  const first = await (created
    ? waitUntilBegun(ref, {
        connection: broker.main,
        onError: complain,
        read: () => log.reader.readFirst(ref),
        waitMs: REQUEST_WAIT_MS,
      })
    : request(log, ref, moderation));
  if (!first) throw new Error(`${ref.generation} was queued, but has no request.`);
  const snapshot = { events: [first.payload], streamSeq: first.streamSeq };
  const maxBytes = log.maxCheckpointBytes;
  const checkpointer = createCheckpointer({
    publish: log.publishCheckpoint,
    ref,
    snapshot,
    maxBytes,
    now: Date.now(),
  });
  const appender = new Appender({
    ...log,
    ref,
    head: headOf(snapshot),
    writer: createWriterName(),
    onStored(event) {
      checkpointer.add(event.payload, event.streamSeq, Date.now());
      onStored?.(event);
    },
    chunking,
    isFence: ({ type }) => isTerminal(type),
    onEnd: complain,
  });
  broker.main.subscribe(liveSubject(ref), {
    callback: (error, message) => (error ? complain(error) : appender.observe(peekSeq(message.data))),
  });
  appender.append({ type: "generation.started", attempt: 1, worker: WORKER, model: "sim", nonce: "5e0f9a" });
  await appender.settled();
  return { id: ref.generation, appender };
}

/** Stores the request of a new generation. */
async function request(
  log: GenerationLog,
  ref: GenerationRef,
  moderation: EffectiveModeration | undefined,
): Promise<Pick<StoredEvent, "payload" | "streamSeq">> {
  const payload = encodeEvent(REQUEST_SEQ, {
    type: "generation.requested",
    ...ref,
    created_at: new Date().toISOString(),
    request: { model: "sim", input: "bench" },
    policy: { ...DEFAULT_POLICY, moderation },
  });
  const stored = await log.publish(logSubject(ref), payload, {
    expectedLast: STREAM_START,
    writer: createWriterName(),
  });
  if (stored.kind !== "stored") throw new Error(`The first event was not stored: ${stored.kind}.`);
  return { payload, streamSeq: stored.streamSeq };
}

/** A worker's connection to the broker that REPRISE_NATS_URL names, with its user and password. */
export function connectBenchWorker(name: string): Promise<Broker> {
  const url = process.env["REPRISE_NATS_URL"];
  if (url === undefined) throw new Error("REPRISE_NATS_URL is not set.");
  return connectBroker({ url, name, user: "inference-worker", onError: complain });
}
