import { randomBytes, randomUUID } from "node:crypto";
import * as blobs from "@reprise/blobs";
import {
  Appender,
  AppendPressure,
  createGenerationLog,
  type GenerationLog,
  headOf,
  type StoredEvent,
} from "@reprise/stream";
import { type Broker, openBroker } from "@reprise/broker";
import { enqueueJob, type Job } from "@reprise/jobs";
import {
  type BudgetCharge,
  createGenerationId,
  decodeEvent,
  DEFAULT_POLICY,
  type EffectivePolicy,
  type EffectiveTimeouts,
  encodeEvent,
  type EventDraft,
  type GenerationId,
  type GenerationRef,
  isTerminal,
  jobLane,
  JOBS_STREAM,
  type KnownEvent,
  liveSubject,
  logSubject,
  parseTenantId,
  parseWorkerId,
  type Prompt,
  type RequestedEvent,
  MediaTranscript,
  type TurnContext,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createLogger, createMetrics, type Metrics } from "@reprise/runtime";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import { type BudgetLedger, MemoryLedger } from "@reprise/tenancy";
import {
  eventually,
  PATIENCE_MS,
  startStoredBroker,
  startTestBroker,
  type StoredBroker,
  type TestBroker,
  untilAnswered,
} from "@reprise/testkit";
import type { EngineReport } from "../run/turn/engine-report.ts";
import type { Engine } from "../engines/engine.ts";
import type { ServedModel } from "../model-queues.ts";
import type { RunContext, RunResult } from "../run/run-context.ts";
import { WorkerMetrics } from "../run/metrics/worker-metrics.ts";
import { createInputJudge } from "../run/turn/input-gate.ts";
import { runGeneration } from "../run/run-generation.ts";
import { startWorker, type Worker } from "../service.ts";

const MODEL = "fake";
const TENANT = parseTenantId("acme");

export interface Submission {
  options?: NonNullable<RequestedEvent["request"]["options"]>;
  /** Limits that it does not name are patient. */
  policy?: Partial<Omit<EffectivePolicy, "timeouts">> & { timeouts?: Partial<EffectiveTimeouts> };
  /** Further fields of the request. */
  request?: Partial<RequestedEvent["request"]>;
  /** The media in seq 0 that the request names. */
  media?: RequestedEvent["media"];
  /** The needs of the request in seq 0. */
  needs?: readonly string[];
  /** Which optional events seq 0 lists. Default: none, as an older node does. */
  events?: readonly string[];
  /** The blobs in seq 0 that the model may make. */
  blobs?: RequestedEvent["blobs"];
  /** The prompt before it. */
  prompt?: Prompt;
  /** Its place in its conversation. */
  context?: TurnContext;
  /** In seq 0, and in the job. */
  traceparent?: string;
  /** The budgets that the generation is counted against. */
  budgets?: readonly BudgetCharge[];
  /** Events that the log holds already after the request, as if an earlier worker had died. */
  history?: readonly EventDraft[];
  /** False leaves the log empty, as a creator does that dies once the job is queued. Default true. */
  requested?: boolean;
}

/** A real broker, and what surrounds a worker: the creator of generations, and their readers. */
export interface World<Server = TestBroker> extends AsyncDisposable {
  readonly server: Server;
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly blobs: blobs.BlobStorage;
  /** Creates a generation as delivery does. */
  submit(submission?: Submission): Promise<GenerationRef>;
  /** Appends to a log from outside of the worker, as delivery or another worker does. */
  append(ref: GenerationRef, draft: EventDraft): Promise<void>;
  read(ref: GenerationRef): Promise<KnownEvent[]>;
  /** Resolves with the log as soon as it holds what is asked for. */
  until(ref: GenerationRef, holds: (events: KnownEvent[]) => boolean): Promise<KnownEvent[]>;
  /** Resolves with the log once it has its end. */
  untilEnded(ref: GenerationRef): Promise<KnownEvent[]>;
  queuedJobs(): Promise<number>;
  /** The number of times that a job was handed out so far. */
  jobDeliveries(): Promise<number>;
  /** Runs one generation's job by itself, without a worker around it. */
  run(ref: GenerationRef, engine: Engine, overrides?: RunOverrides): Promise<RunResult>;
  /** A worker in this process that serves one model with one engine, until it or the world is closed. */
  startWorker(engine: Engine, options?: StartWorker): Promise<Worker>;
}

interface StartWorker extends Pick<ServedModel, "fallback"> {
  slots?: number;
  ledger?: BudgetLedger;
  tracing?: Tracing;
  metrics?: Metrics;
  /** The last worker that was started says it for all. */
  ackWaitMs?: number;
  /** The connection for appends and questions. By default one that waits for answers longer than it is told to. */
  main?: Broker["main"];
  /** The connection for reads of logs. */
  reads?: Broker["reads"];
}

const HOUR_MS = 3_600_000;
const PATIENT_MS = 600_000;
/** None of them strikes in a test that is not about it, however long a busy machine takes. */
const PATIENT: EffectiveTimeouts = {
  ...DEFAULT_POLICY.timeouts,
  queue: { ...DEFAULT_POLICY.timeouts.queue, after_ms: PATIENT_MS },
  first_token: { ...DEFAULT_POLICY.timeouts.first_token, after_ms: PATIENT_MS },
  between_tokens: { ...DEFAULT_POLICY.timeouts.between_tokens, after_ms: PATIENT_MS },
  total: { ...DEFAULT_POLICY.timeouts.total, after_ms: PATIENT_MS },
};

export async function openWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  return await connectWorld(stack.move(), server);
}

/** A world whose broker can lose what it has stored. */
export async function openWorldToRollBack(): Promise<World<StoredBroker>> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startStoredBroker());
  return await connectWorld(stack.move(), server);
}

async function connectWorld<Server extends TestBroker>(
  owned: AsyncDisposableStack,
  server: Server,
): Promise<World<Server>> {
  await using stack = owned;
  const topology = { shards: 1, replicas: 1, retentionMs: HOUR_MS };
  const broker = stack.use(
    await untilAnswered(() => openBroker({ url: server.url, name: "test", onError: rethrow, ...topology })),
  );
  const log = createGenerationLog(broker);

  const patient = createPatientConnection(broker.main);
  const storage = blobs.createBlobStorage({ broker, publish: log.publish });

  const read = async (ref: GenerationRef) =>
    (await readWhole(log, ref)).map(({ payload }) => decodeEvent(payload) as KnownEvent);
  const until = (ref: GenerationRef, holds: (events: KnownEvent[]) => boolean) =>
    watchLog(broker, ref, async () => {
      const events = await read(ref);
      return holds(events) ? events : undefined;
    });
  const workers = stack.use(new AsyncDisposableStack());
  const kept = stack.move();
  return {
    server,
    broker,
    log,
    blobs: storage,
    read,
    until,
    untilEnded: (ref) => until(ref, (events) => events.some(({ type }) => isTerminal(type))),
    submit: (submission = {}) => submit(log, submission),
    append: (ref, draft) => appendAll(log, ref, [draft]),
    async queuedJobs() {
      const info = await patient.request(`$JS.API.STREAM.INFO.${JOBS_STREAM}`);
      return info.json<{ state: { messages: number } }>().state.messages;
    },
    async jobDeliveries() {
      const { consumer } = jobLane(MODEL, { tenant: TENANT, priority: "interactive" });
      const info = await patient.request(`$JS.API.CONSUMER.INFO.${JOBS_STREAM}.${consumer}`);
      return info.json<{ delivered: { consumer_seq: number } }>().delivered.consumer_seq;
    },
    run: (ref, engine, overrides) =>
      runOne({ connection: patient, log, blobs: storage, ref, engine, ...overrides }),
    async startWorker(engine, options = {}) {
      const {
        slots = 10,
        ackWaitMs = 60_000,
        fallback,
        ledger,
        tracing,
        metrics = createMetrics(),
        main = patient,
        reads = broker.reads,
      } = options;
      const models = new Map([[MODEL, { engine, slots, ...(fallback && { fallback }) }]]);
      const logger = createLogger({ service: "test", level: "silent" });
      const own = { broker: { ...broker, main, reads }, logger, metrics };
      return workers.use(
        await startWorker({ ...own, models, ackWaitMs, ledger, ...(tracing && { tracing }) }),
      );
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

interface RunOverrides {
  /** By default one that waits for answers longer than it is told to. */
  connection?: Broker["main"];
  log?: GenerationLog;
  model?: string;
  onError?: (error: unknown) => void;
  onEngineReport?: (report: EngineReport) => void;
  onEngineAnswered?: (model: string) => void;
  handover?: AbortSignal;
  ledger?: BudgetLedger;
  /** Generations that the worker runs already. */
  holding?: readonly GenerationId[];
  blobs?: blobs.BlobStorage;
  mediaUrl?: string;
  /** Overrides of the job: working, done, given back, parked. */
  job?: Partial<Job>;
}

interface OneRun extends RunOverrides {
  connection: Broker["main"];
  log: GenerationLog;
  blobs: blobs.BlobStorage;
  ref: GenerationRef;
  engine: Engine;
}

function runOne(run: OneRun): Promise<RunResult> {
  const { connection, log, blobs: storage, ref, engine, model = MODEL, onError = rethrow } = run;
  const { handover = new AbortController().signal, onEngineReport = () => undefined, holding = [] } = run;
  const { ledger = new MemoryLedger(), onEngineAnswered = () => undefined } = run;
  const context = {
    connection,
    reads: connection,
    log,
    media: { storage, url: run.mediaUrl },
    output: storage,
    inputJudge: createInputJudge(connection),
    worker: parseWorkerId("worker-test"),
    ackWaitMs: 60_000,
    ledger,
    onCutOff: () => {},
    tracing: NO_TRACING,
    metrics: new WorkerMetrics(createMetrics({ processMetrics: false })),
    onError,
    onEngineReport,
    onEngineAnswered,
    handover,
    pressure: new AppendPressure(),
    running: new Map(holding.map((generation) => [generation, {}])) as RunContext["running"],
    connectedAtMs: () => Number.NEGATIVE_INFINITY,
  };
  const nothing = () => undefined;
  const job = {
    ref,
    model,
    priority: "interactive" as const,
    payload: Buffer.alloc(0),
    holdPayloadAt: nothing,
    deliveries: 1,
    working: nothing,
    ack: async () => nothing(),
    release: nothing,
    park: nothing,
    hasRoomToWait: () => true,
    unpark: async () => nothing(),
    setYield: nothing,
    hasLostSlot: () => false,
    ...run.job,
  };
  return runGeneration(context, job, { engine, slots: 1 });
}

export function transcriptOf(events: readonly KnownEvent[]): MediaTranscript {
  const transcript = new MediaTranscript();
  for (const event of events) transcript.apply(event);
  return transcript;
}

export const textOf = (events: readonly KnownEvent[]) => transcriptOf(events).text;

export const typesOf = (events: readonly KnownEvent[]) => events.map(({ type }) => type);

async function submit(
  log: GenerationLog,
  {
    options,
    policy,
    request,
    needs,
    media,
    blobs: limits,
    events,
    prompt,
    context,
    budgets,
    history = [],
    requested = true,
    traceparent,
  }: Submission,
): Promise<GenerationRef> {
  const ref = { tenant: TENANT, generation: createGenerationId(randomBytes(17), 1) };
  const { priority } = request ?? {};
  const payload = encodeEvent(asSeq(0), {
    type: "generation.requested",
    ...ref,
    created_at: new Date().toISOString(),
    request: { model: MODEL, input: "Say something.", ...(options && { options }), ...request },
    ...(needs && { needs: [...needs] }),
    ...(media && { media }),
    ...(limits && { blobs: limits }),
    ...(events && { events: [...events] }),
    ...(prompt && { prompt }),
    ...(context && { context }),
    policy: { ...DEFAULT_POLICY, ...policy, timeouts: { ...PATIENT, ...policy?.timeouts } },
    ...(traceparent !== undefined && { traceparent }),
    ...(budgets && { budgets: [...budgets] }),
  });
  if (requested)
    await log.publish(logSubject(ref), payload, { expectedLast: asStreamSeq(0), timeoutMs: PATIENCE_MS });
  await appendAll(log, ref, history);
  await enqueueJob(log.publish, { model: MODEL, ref, priority, payload, trace: traceparent });
  return ref;
}

async function appendAll(
  log: GenerationLog,
  ref: GenerationRef,
  drafts: readonly EventDraft[],
): Promise<void> {
  const tail = await readWhole(log, ref);
  const head = headOf({
    events: tail.map(({ payload }) => payload),
    streamSeq: tail.at(-1)?.streamSeq ?? asStreamSeq(0),
  });
  const appender = new Appender({ ...log, ref, head, writer: randomUUID(), isFence: () => false });
  for (const draft of drafts) {
    appender.append(draft);
    await appender.settled();
  }
}

/** A leader has two seconds to answer, which are over soon on a busy machine: then it is asked again. */
function readWhole(log: GenerationLog, ref: GenerationRef): Promise<StoredEvent[]> {
  return eventually(() => log.leader.readTail(ref, asStreamSeq(0)));
}

/** Checks now, and again whenever the log has grown, until there is something to return. */
async function watchLog<T>(
  broker: Broker,
  ref: GenerationRef,
  look: () => Promise<T | undefined>,
): Promise<T> {
  let grown = Promise.withResolvers<void>();
  const live = broker.main.subscribe(liveSubject(ref), { callback: () => grown.resolve() });
  try {
    await broker.main.flush();
    for (;;) {
      grown = Promise.withResolvers();
      const seen = await look();
      if (seen !== undefined) return seen;
      await grown.promise;
    }
  } finally {
    live.unsubscribe();
  }
}

function rethrow(error: unknown): never {
  throw error;
}

type Connection = Broker["main"];

/**
 * A connection whose requests wait for longer than they say: that one was answered late, on a busy machine, has no consequences.
 * A request while nothing is wrong is answered, and in no time; but the process that asks may be asleep until then.
 */
function createPatientConnection(connection: Connection): Connection {
  const request: Connection["request"] = (subject, payload, options) =>
    connection.request(subject, payload, { ...options, timeout: PATIENCE_MS });
  return new Proxy(connection, {
    get(target, property) {
      if (property === "request") return request;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
