import type { PeerInfo } from "@nats-io/jetstream";
import {
  generationsStream,
  JOBS_STREAM,
  LEASES_STREAM,
  type RepriseError,
  RULES_STREAM,
  type StreamSeq,
  asStreamSeq,
  toRepriseError,
} from "@reprise/protocol";
import type { Broker } from "../nats/connection.ts";
import { watchConnection } from "../nats/watch-connection.ts";
import { encodeShardAnnouncement, otherShards, readShardCount, shardMemberSubject } from "./shard-count.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { getStreamInfo } from "../nats/stream-api.ts";
import { createWriterName } from "../nats/writer-name.ts";

export interface BrokerAvailabilityOptions {
  readonly broker: Broker;
  /** Number of streams that the logs are spread over. */
  readonly shards: number;
  /**
   * Called when appends are no longer possible, with the reasons; with the new ones once others have held for `settleMs`; and when appends
   * are possible again, without any.
   */
  readonly onChange?: (because: readonly string[]) => void;
  /** Called once when the broker's logs are spread over another number of streams: this process must end. */
  readonly onOtherShards?: (error: RepriseError) => void;
  /** Between two probes. Default 1 s. */
  readonly everyMs?: number;
  /** Default 5 s: a broker that comes back has other reasons every second. */
  readonly settleMs?: number;
}

const EVERY_MS = 1_000;
const SETTLE_MS = 5_000;
const TIMEOUT_MS = 2_000;
/** Streams that a create is stored in, in addition to its log: its job, and the rules that moderate it. */
const CREATE_STREAMS = [JOBS_STREAM, RULES_STREAM] as const;
/** Streams asked in one probe: with more shards the next probe continues after them. */
const STREAMS_PER_PROBE = 16;

/**
 * Reports if a create and an append would be stored now, as of about a second ago. A connection alone proves nothing: brokers that have lost their
 * quorum keep it, and take no message. So every second the leaders of the streams of logs, jobs and rules are asked for their replicas, and a message
 * is stored in the way an event is: this process's announcement of its presence and of the number of shards that it spreads logs over.
 */
export class BrokerAvailability implements AsyncDisposable {
  readonly #options: BrokerAvailabilityOptions;
  readonly #down = new Set<Broker["main"]>();
  readonly #everyMs: number;
  readonly #subject = shardMemberSubject(createWriterName());
  #timer: NodeJS.Timeout | undefined;
  #probed: readonly string[] = [];
  #wasAway = false;
  /** Why the server lets this process in no more, as of the last try. */
  #refusal: string | undefined;
  /** The reasons that were told last, and those that may be told next, each as one text. */
  #told = "";
  #next = { reasons: "", sinceMs: 0 };
  #nextShard = 0;
  /** Last sequences of the streams of logs, jobs and rules, as of the last probe of each. */
  readonly #lastSeqs = new Map<string, StreamSeq>();
  /** Number of a stream's replicas that were missing when it was asked last. */
  readonly #missing = new Map<string, number>();
  /** Problems of streams, as of the last probe of each. */
  readonly #problems = new Map<string, string>();
  #isClosed = false;
  #isOther = false;

  /** Until the first probe the broker counts as available: it has just been asked for its streams. */
  constructor(options: BrokerAvailabilityOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    const { main, reads, bulk } = options.broker;
    for (const connection of [main, reads, bulk])
      watchConnection(connection, {
        onDown: () => this.#note(() => this.#down.add(connection)),
        onUp: () => this.#returned(connection),
      });
    this.#schedule(0);
  }

  /** Why no append would be stored now, in words for people: empty when it would. */
  because(): readonly string[] {
    if (this.#down.size === 0) return this.#probed;
    return [`not connected to NATS${this.#refusal === undefined ? "" : `: ${this.#refusal}`}`];
  }

  /** The last place of a stream of logs, as of a second ago, or with many shards of some; undefined before it was asked for the first time. */
  lastStreamSeq(stream: string): StreamSeq | undefined {
    return this.#lastSeqs.get(stream);
  }

  /** The most replicas that any stream of logs, jobs or rules lacks; 0 if none is missing, or none is known. */
  get missingReplicas(): number {
    return Math.max(0, ...this.#missing.values());
  }

  /** Also announces that this process is gone, if the broker takes that within 2 s. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#down.size === 0) await this.#store(0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A connection that is back does not prove that its streams are available: they are asked before the broker counts as available. */
  #returned(connection: Broker["main"]): void {
    this.#note(() => {
      this.#down.delete(connection);
      if (this.#down.size === 0) this.#refusal = undefined;
      this.#probed = ["the log's streams have not answered since the connection is back"];
    });
    if (this.#down.size === 0) this.#schedule(0);
  }

  #schedule(ms = this.#everyMs): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#probe(), ms);
    this.#timer.unref();
  }

  async #probe(): Promise<void> {
    if (this.#down.size === 0) {
      const because = await this.#ask();
      // An answer to a request from before the connection was lost is outdated.
      if (this.#down.size === 0) this.#note(() => (this.#probed = because));
    } else {
      const refusal = await this.#options.broker.whyRefused();
      if (this.#down.size > 0) this.#note(() => (this.#refusal = refusal));
    }
    this.#schedule();
  }

  async #ask(): Promise<string[]> {
    const { shards } = this.#options;
    const count = Math.min(shards, STREAMS_PER_PROBE);
    const asked = Array.from({ length: count }, (_, i) => (this.#nextShard + i) % shards);
    this.#nextShard = (this.#nextShard + count) % shards;
    const [stored] = await Promise.all([
      this.#store(shards).then((problem) => problem ?? this.#compareShards()),
      ...[...CREATE_STREAMS, ...asked.map(generationsStream)].map((stream) => this.#askLeader(stream)),
    ]);
    return [...(stored === undefined ? [] : [stored]), ...this.#problems.values()];
  }

  async #askLeader(stream: string): Promise<void> {
    const { problem, lastSeq, missing } = await askLeader(this.#options.broker, stream);
    if (missing !== undefined) this.#missing.set(stream, missing);
    if (lastSeq !== undefined) this.#lastSeqs.set(stream, lastSeq);
    if (problem === undefined) this.#problems.delete(stream);
    else this.#problems.set(stream, problem);
  }

  /** Runs after this process's own announcement: a process that raises the number looks for other announcements after its own. */
  async #compareShards(): Promise<string | undefined> {
    const { broker, shards, onOtherShards } = this.#options;
    try {
      const kept = await readShardCount(broker.main);
      if (kept === undefined || kept === shards) return undefined;
      const error = otherShards(kept, shards);
      if (!this.#isOther) onOtherShards?.(error);
      this.#isOther = true;
      return error.message;
    } catch (error) {
      return toRepriseError(error).message;
    }
  }

  async #store(shards: number): Promise<string | undefined> {
    const publish = createPublish(inboxOf(this.#options.broker.main));
    const announcement = encodeShardAnnouncement(shards);
    const outcome = await publish(this.#subject, announcement, { timeoutMs: TIMEOUT_MS });
    if (outcome.kind === "stored") return undefined;
    const why = outcome.kind === "unavailable" ? (outcome.detail ?? outcome.reason) : outcome.kind;
    return `${LEASES_STREAM} stores nothing: ${why}`;
  }

  #note(change: () => void): void {
    if (this.#isClosed) return;
    change();
    const because = this.because();
    const isAway = because.length > 0;
    const reasons = because.join();
    if (reasons !== this.#next.reasons) this.#next = { reasons, sinceMs: performance.now() };
    const { settleMs = SETTLE_MS, onChange } = this.#options;
    const isOtherReason = reasons !== this.#told && performance.now() - this.#next.sinceMs >= settleMs;
    if (isAway === this.#wasAway && !(isAway && isOtherReason)) return;
    this.#wasAway = isAway;
    this.#told = reasons;
    onChange?.(because);
  }
}

interface AskedStream {
  readonly problem?: string;
  readonly lastSeq?: StreamSeq;
  readonly missing?: number;
}

async function askLeader({ main }: Broker, stream: string): Promise<AskedStream> {
  try {
    const { cluster, config, state } = await getStreamInfo(main, stream, {}, TIMEOUT_MS);
    const lastSeq = asStreamSeq(state.last_seq);
    const missing = countMissing(cluster, config.num_replicas);
    return hasQuorum(cluster)
      ? { lastSeq, missing }
      : { lastSeq, missing, problem: `${stream} has no quorum` };
  } catch (error) {
    return { problem: toRepriseError(error).message };
  }
}

/** A replica that its leader has not heard of for as long counts as gone: nodes exchange heartbeats every second. */
const SILENT_NS = 5_000 * 1_000_000;

/** A single server has no cluster, or a cluster without replicas. */
export function hasQuorum(cluster: { readonly replicas?: readonly StreamPeer[] } | undefined): boolean {
  const replicas = cluster?.replicas ?? [];
  return (countHeard(replicas) + 1) * 2 > replicas.length + 1;
}

/** Counts the replicas that a stream lacks: servers that are away, or have no room for one. 0 for a single server. */
export function countMissing(
  cluster: { readonly replicas?: readonly StreamPeer[] } | undefined,
  wanted: number,
): number {
  return cluster ? Math.max(0, wanted - 1 - countHeard(cluster.replicas ?? [])) : 0;
}

function countHeard(replicas: readonly StreamPeer[]): number {
  return replicas.filter(({ offline, active }) => offline !== true && active < SILENT_NS).length;
}

type StreamPeer = Pick<PeerInfo, "active"> & Partial<Pick<PeerInfo, "offline">>;
