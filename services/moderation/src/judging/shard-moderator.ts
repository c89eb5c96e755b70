import { OwnerQueues, retry, Semaphore } from "@reprise/async";
import { isExpiredOrErased, type LogSnapshot, readPolicy } from "@reprise/stream";
import {
  type EffectiveModeration,
  type GenerationId,
  type GenerationRef,
  isTerminal,
  peekSeq,
  peekType,
  toRepriseError,
  type StreamSeq,
  plus,
  STREAM_START,
} from "@reprise/protocol";
import type { ModeratorContext, LogEvent } from "./moderator-context.ts";
import { GenerationModerator } from "./generation-moderator.ts";
import { WaitingEvents } from "./waiting-events.ts";

/** An event of a shard, and whose it is. */
export interface IncomingEvent extends LogEvent {
  readonly ref: GenerationRef;
}

interface Entry {
  readonly ref: GenerationRef;
  /** The event that started it: until its log is read, no later event is settled. */
  readonly fromStreamSeq: StreamSeq;
  judged: GenerationModerator | undefined;
  /** Events that came while the log was read. */
  readonly waiting: WaitingEvents;
  touchedAtMs: number;
}

/** Those that have ended are kept a while, for their own last events come back as the shard's. */
const LINGER_MS = 5_000;
/** Generations without events for so long are dropped: another replica may judge them, or their worker is gone. */
const IDLE_MS = 600_000;
/** More than this, and those that were quiet for longest are let go: their logs bring them back. */
const MAX_ENTRIES = 50_000;
const MAX_UNMODERATED = 1_000_000;
/** A fifth of what the broker hands out without an acknowledgement. */
const MOST_HELD_BY_WAITING = 10_000;
const REOPEN_AFTER_MS = 1_000;
/** Logs that are read at once, as after a restart in the middle of many generations. */
const LOADS = 16;

/**
 * The generations of one shard that are being judged. A generation is taken up with its first event, or, when this process does not
 * know it, with any later one: then its log is read. What is not moderated costs one lookup in a set.
 */
export class ShardModerator {
  readonly #context: ModeratorContext;
  readonly #entries = new Map<GenerationId, Entry>();
  /** Generations whose policy has moderation off, or can't be read here, as long as they run. */
  readonly #unmoderated = new Set<GenerationId>();
  readonly #loads = new Semaphore(LOADS);
  /** Logs that were read stay in memory until they are judged, so only a few of each tenant are read before that. */
  readonly #replays = new OwnerQueues(LOADS);
  readonly #closed = new AbortController();
  #lastStreamSeq = STREAM_START;

  constructor(context: ModeratorContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#entries.size;
  }

  get pendingLength(): number {
    let sum = 0;
    for (const { judged } of this.#entries.values()) sum += judged?.pendingLength ?? 0;
    return sum;
  }

  /** @returns how many of the events belong to generations that are moderated */
  take(events: readonly IncomingEvent[]): number {
    const touched = new Set<GenerationModerator>();
    let count = 0;
    const now = performance.now();
    for (const event of events) {
      this.#lastStreamSeq = Math.max(this.#lastStreamSeq, event.streamSeq);
      const { generation } = event.ref;
      if (this.#unmoderated.has(generation)) {
        if (isTerminal(peekType(event.payload))) this.#unmoderated.delete(generation);
        continue;
      }
      count++;
      const known = this.#entries.get(generation);
      const entry = known && !known.judged?.isClosed ? known : this.#begin(event);
      if (!entry) continue;
      entry.touchedAtMs = now;
      if (!entry.judged) entry.waiting.push(event);
      else {
        this.#take(entry.judged, event);
        touched.add(entry.judged);
      }
    }
    for (const judged of touched) judged.flush();
    return count;
  }

  /** An event that can't be decoded delays no other. */
  #take(judged: GenerationModerator, event: LogEvent): void {
    try {
      judged.take(event);
    } catch (error) {
      judged.fail(error);
    }
  }

  /**
   * Returns the last place up to which every verdict is stored. A tenant that waits for its share holds this back by at most 10,000 events, so the
   * broker continues to deliver other tenants' events.
   */
  get settledStreamSeq(): StreamSeq {
    const { shares } = this.#context;
    const longAgo = this.#lastStreamSeq - MOST_HELD_BY_WAITING;
    let first = plus(this.#lastStreamSeq, 1);
    for (const { ref, judged, fromStreamSeq } of this.#entries.values()) {
      const from = judged ? (judged.unstoredFrom ?? first) : fromStreamSeq;
      if (from > longAgo || !shares.isSpent(ref.tenant)) first = Math.min(first, from);
    }
    return plus(first, -1);
  }

  /** Stores what waits for it, and lets go of what is done. */
  async sweep(now: number): Promise<void> {
    const stores = [...this.#entries.values()].map(async ({ judged }) => judged?.store());
    // A verdict that can't be sent is reported, and delays no other generation.
    for (const stored of await Promise.allSettled(stores))
      if (stored.status === "rejected") this.#context.onError(stored.reason);
    for (const [generation, entry] of this.#entries) {
      const idleMs = now - entry.touchedAtMs;
      const isOver = (entry.judged?.isDone || entry.judged?.isClosed) && idleMs > LINGER_MS;
      if (isOver || (entry.judged?.isAtRest && idleMs > IDLE_MS)) this.#drop(generation, entry);
    }
    if (this.#entries.size <= MAX_ENTRIES) return;
    const oldest = [...this.#entries].toSorted(([, a], [, b]) => a.touchedAtMs - b.touchedAtMs);
    for (const [generation, entry] of oldest.slice(0, this.#entries.size - MAX_ENTRIES)) {
      if (entry.judged?.isAtRest) this.#drop(generation, entry);
    }
  }

  close(): void {
    this.#closed.abort();
    for (const { judged } of this.#entries.values()) judged?.close();
  }

  /** @returns undefined for a generation that is not judged here */
  #begin(event: IncomingEvent): Entry | undefined {
    const { ref } = event;
    const isFirst = peekSeq(event.payload) === 0;
    if (isFirst && !this.#moderationIn(event.payload)) {
      this.#passOver(ref.generation);
      return undefined;
    }
    const entry: Entry = {
      ref,
      fromStreamSeq: event.streamSeq,
      judged: undefined,
      waiting: new WaitingEvents(),
      touchedAtMs: performance.now(),
    };
    this.#entries.set(ref.generation, entry);
    const own = { payload: Uint8Array.from(event.payload), streamSeq: event.streamSeq };
    void this.#open(entry, isFirst ? { events: [own.payload], streamSeq: own.streamSeq } : undefined);
    return entry;
  }

  /**
   * A broker that is away comes back. What can't be judged at all stays unjudged, and readers get what the policy says.
   * @param known the log, when it is known whole
   */
  async #open(entry: Entry, known?: LogSnapshot): Promise<void> {
    const attempt = (attempts: number) =>
      known && attempts === 0
        ? this.#tryToOpen(entry, known)
        : this.#replays.run(entry.ref.tenant, () => this.#tryToOpen(entry));
    await retry(attempt, { pauseMs: REOPEN_AFTER_MS, signal: this.#closed.signal });
  }

  /** @returns undefined when it is to be tried again */
  async #tryToOpen(entry: Entry, known?: LogSnapshot): Promise<true | undefined> {
    const { ref } = entry;
    try {
      const snapshot = known ?? (await this.#loads.run(() => this.#context.log.reader.readLog(ref)));
      const moderation = this.#moderationIn(snapshot.events[0]);
      if (!moderation) {
        this.#entries.delete(ref.generation);
        this.#passOver(ref.generation);
        return true;
      }
      const judged = await GenerationModerator.open(this.#context, ref, moderation, snapshot);
      entry.judged = judged;
      for (let event = entry.waiting.shift(); event; event = entry.waiting.shift()) this.#take(judged, event);
      judged.flush();
    } catch (thrown) {
      const error = toRepriseError(thrown);
      if (error.retryable) return undefined;
      this.#entries.delete(ref.generation);
      if (!isExpiredOrErased(error)) this.#context.onError(error);
    }
    return true;
  }

  /**
   * Undefined where a log has none, or one of a later version: that is told, and left to a newer replica. Judged by half of its policy, the
   * text would be cleared for readers on newer nodes too.
   */
  #moderationIn(first: Uint8Array | undefined): EffectiveModeration | undefined {
    if (!first || peekSeq(first) !== 0) return undefined;
    try {
      return readPolicy(first)?.moderation;
    } catch (error) {
      this.#context.onError(error);
      return undefined;
    }
  }

  #passOver(generation: GenerationId): void {
    if (this.#unmoderated.size >= MAX_UNMODERATED) this.#unmoderated.clear();
    this.#unmoderated.add(generation);
  }

  #drop(generation: GenerationId, entry: Entry): void {
    entry.judged?.close();
    this.#entries.delete(generation);
  }
}
