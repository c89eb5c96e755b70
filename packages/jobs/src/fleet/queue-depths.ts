import type { ConsumerInfo } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import {
  asStreamSeq,
  jobLane,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  laneKey,
  type LaneName,
  parseJobSubject,
  parseLaneFilter,
  STREAM_START,
  type StreamSeq,
  toUnixMs,
  type UnixMs,
} from "@reprise/protocol";
import { listConsumers } from "./list-consumers.ts";
import { getNextMessage, getStreamInfo } from "@reprise/broker";

/** The queue of a model, over all tenants. */
export interface QueueDepth {
  /** Jobs that were never handed to a worker. */
  readonly queued: number;
  /** Jobs that were, and have not been acknowledged: those that run, are parked, were given back, or have lost their worker. */
  readonly held: number;
  /** When the oldest of the queued ones was stored, by the broker's clock; undefined where there is none. Of many lanes it may be a little too late. */
  readonly oldestAtMs: UnixMs | undefined;
}

export interface QueueDepthsRead {
  /** The broker's clock. */
  readonly brokerTimeMs: UnixMs;
  /** By model: those that have a job, or had one in the last minutes. */
  readonly models: ReadonlyMap<string, QueueDepth>;
}

interface Lane extends LaneName {
  readonly model: string;
  readonly queued: number;
  readonly held: number;
  /** The newest job that was handed out; queued jobs come after it. */
  readonly handedOut: StreamSeq;
}

interface Oldest {
  readonly streamSeq: StreamSeq;
  readonly atMs: UnixMs;
  readonly readAtMs: number;
}

/** Jobs of lanes without a consumer are found by listing the queue, which names each job: at most so often. */
const LIST_MS = 15_000;
/** A job that waits may be taken out of the queue. So the oldest of a lane is read again, with all that it asks for, at most so often. */
const READ_MS = 15_000;
/** The lanes of a model that are asked for their oldest job, which costs a request for each. */
const MOST_LOOKS = 8;

/**
 * Number of jobs that wait in each model's queue. The lanes' consumers report the jobs that were not handed out. Jobs of lanes that no worker has
 * pulled from have no consumer; a listing finds them when the stream has more messages than its consumers know of.
 */
export class QueueDepths {
  readonly #connection: NatsConnection;
  /** By lane: what its oldest queued job was. */
  #oldest = new Map<string, Oldest>();
  #unpulled: readonly Lane[] = [];
  #listedAtMs = Number.NEGATIVE_INFINITY;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  /** @throws RepriseError `broker_unavailable` */
  async read(): Promise<QueueDepthsRead> {
    const { ts, state } = await getStreamInfo(this.#connection, JOBS_STREAM);
    const pulled = (await listConsumers(this.#connection, JOBS_STREAM)).flatMap(toLane);
    const unpulled = await this.#findUnpulled(state.messages, pulled);
    const byModel = Map.groupBy([...pulled, ...unpulled], ({ model }) => model);
    const oldest = new Map<string, Oldest>();
    const models = new Map<string, QueueDepth>();
    for (const [model, lanes] of byModel) {
      models.set(model, {
        queued: sum(lanes, ({ queued }) => queued),
        held: sum(lanes, ({ held }) => held),
        oldestAtMs: await this.#findOldest(lanes, oldest),
      });
    }
    this.#oldest = oldest;
    return { brokerTimeMs: toUnixMs(ts), models };
  }

  async #findUnpulled(messages: number, pulled: readonly Lane[]): Promise<readonly Lane[]> {
    const known = new Set(pulled.map(keyOf));
    if (messages <= sum(pulled, ({ queued, held }) => queued + held)) this.#unpulled = [];
    else if (performance.now() - this.#listedAtMs >= LIST_MS) {
      this.#listedAtMs = performance.now();
      this.#unpulled = await listLanes(this.#connection);
    }
    this.#unpulled = this.#unpulled.filter((lane) => !known.has(keyOf(lane)));
    return this.#unpulled;
  }

  /** Lanes are sorted by the newest job that was handed out, the oldest first: the search ends at the first lane that can have no older job. */
  async #findOldest(lanes: readonly Lane[], found: Map<string, Oldest>): Promise<UnixMs | undefined> {
    let first: Oldest | undefined;
    let looks = 0;
    const waiting = lanes.filter(({ queued }) => queued > 0);
    for (const lane of waiting.toSorted((one, other) => one.handedOut - other.handedOut)) {
      if (first && lane.handedOut >= first.streamSeq) break;
      const known = this.#knownOldest(lane);
      if (!known && ++looks > MOST_LOOKS) break;
      const oldest = known ?? (await readOldest(this.#connection, lane));
      if (!oldest) continue;
      found.set(keyOf(lane), oldest);
      if (!first || oldest.streamSeq < first.streamSeq) first = oldest;
    }
    return first?.atMs;
  }

  #knownOldest(lane: Lane): Oldest | undefined {
    const known = this.#oldest.get(keyOf(lane));
    const isStill = known && known.streamSeq > lane.handedOut && performance.now() - known.readAtMs < READ_MS;
    return isStill ? known : undefined;
  }
}

async function readOldest(connection: NatsConnection, lane: Lane): Promise<Oldest | undefined> {
  const { filter: subject } = jobLane(lane.model, lane);
  const message = await getNextMessage(connection, JOBS_STREAM, { afterStreamSeq: lane.handedOut, subject });
  return (
    message && { streamSeq: message.streamSeq, atMs: toUnixMs(message.time), readAtMs: performance.now() }
  );
}

/** Nothing for a consumer that is no lane's. */
function toLane({ config, num_pending: queued, num_ack_pending: held, delivered }: ConsumerInfo): Lane[] {
  const lane = parseLaneFilter(config.filter_subject ?? "");
  return lane ? [{ ...lane, queued, held, handedOut: asStreamSeq(delivered.stream_seq) }] : [];
}

async function listLanes(connection: NatsConnection): Promise<Lane[]> {
  const lanes = new Map<string, Lane>();
  for (let offset = 0, total = 1; offset < total;) {
    const request = { subjects_filter: JOBS_SUBJECTS, offset };
    const info = await getStreamInfo(connection, JOBS_STREAM, request);
    const subjects = Object.keys(info.state.subjects ?? {});
    for (const subject of subjects) {
      const lane = toUnpulledLane(subject);
      if (!lane) continue;
      const { queued = 0 } = lanes.get(keyOf(lane)) ?? {};
      lanes.set(keyOf(lane), { ...lane, queued: queued + 1 });
    }
    total = subjects.length === 0 ? 0 : info.total;
    offset += subjects.length;
  }
  return [...lanes.values()];
}

/** Undefined for what lies under a subject that is no job's. */
function toUnpulledLane(subject: string): Lane | undefined {
  try {
    const { model, tenant, priority } = parseJobSubject(subject);
    return { model, tenant, priority, queued: 0, held: 0, handedOut: STREAM_START };
  } catch {
    return undefined;
  }
}

function keyOf(lane: LaneName & { readonly model: string }): string {
  return `${laneKey(lane)}.${lane.model}`;
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}
