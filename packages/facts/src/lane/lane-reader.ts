import type { StreamRange } from "@reprise/archive";
import { pause } from "@reprise/async";
import {
  type Broker,
  type StreamMessage,
  readStreamMessages,
  readStoredAtUs,
  type StreamInfo,
} from "@reprise/broker";
import { RepriseError, type StreamSeq, plus } from "@reprise/protocol";
import type { LaneStart } from "./lane-start.ts";
import { readSettledInfo } from "./read-settled-info.ts";

/**
 * Maximum difference of the clocks of a cluster's servers, in microseconds: each stream's messages have the time of its own leader, and another server may
 * lead it later.
 */
export const SKEW_US = 60_000_000;

/** A range of a stream, as it was read. */
export interface Batch {
  readonly stream: string;
  readonly epoch: number;
  /** When the broker made the stream. RFC 3339. */
  readonly created: string;
  /** Everything from `first` to `last` is in `messages` or `missing`. */
  readonly first: StreamSeq;
  readonly last: StreamSeq;
  readonly messages: readonly StreamMessage[];
  /** Places at which nothing is any more. */
  readonly missing: readonly StreamRange[];
  /** Those of them that retention may have emptied: what lay there could have been stored longer ago than the stream keeps anything. */
  readonly maybeExpired: readonly StreamRange[];
}

/** When a batch is full. */
export interface BatchLimits {
  readonly maxMessages: number;
  /** Since its first message was read. */
  readonly maxAgeMs: number;
  readonly maxBytes: number;
}

interface Holes {
  readonly missing: StreamRange[];
  readonly maybeExpired: StreamRange[];
}

/**
 * A read occupies the broker for some microseconds per message, and delays readers that wait for it: at the end of the stream reads are small. After this
 * number of full reads in a row the reader has a backlog, and reads are as large as allowed.
 */
const READ_AT_END = 64;
const READ_BEHIND = 1_000;
const FULL_READS = 16;
const READ_BYTES = 1_024 * 1_024;
/** Memory of a message in addition to its payload: mostly headers. */
const MESSAGE_BYTES = 400;
const IDLE_PAUSE_MS = 100;
/** After a read that has reached the end of the stream: what comes meanwhile is one read, where each event had its own. A batch waits for seconds anyway. */
const PAUSE_AT_END_MS = 250;
const FACTS_EVERY_MS = 1_000;

/**
 * Reads a stream from a place on, batch by batch. It keeps no position at the broker: the caller says where to begin.
 *
 * While no messages come, the stream may lose its end and grow past this place again, or be recreated: the next messages then do not continue the ones
 * that were read. So before messages are read after a pause, the place of the message read last must hold that message or none.
 *
 * The message of an empty place is unknown, but its earliest time is known: the time of the message before it, or the time when the stream was last seen to
 * end before it. No message younger than the stream's retention time has expired, within the difference of clocks.
 */
export class LaneReader {
  readonly #connection: Broker["reads"];
  readonly #stream: string;
  readonly #limits: BatchLimits;
  readonly #start: LaneStart;
  #after: StreamSeq;
  /** When the message at `#after` was stored, if one was there. */
  #afterAtUs: number | undefined;
  /** Earliest time at which messages after `#after` were stored. */
  #sinceUs: number;
  #isContinued = false;
  #fullReads = 0;
  #factsAtMs = Number.NEGATIVE_INFINITY;

  constructor(connection: Broker["reads"], stream: string, start: LaneStart, limits: BatchLimits) {
    this.#connection = connection;
    this.#stream = stream;
    this.#limits = limits;
    this.#start = start;
    this.#after = start.after;
    this.#afterAtUs = start.afterAtUs;
    this.#sinceUs = start.sinceUs;
  }

  /**
   * The next batch: a full one, or what there is when it has become old enough, when `signal` aborts, or when the stream can't be read.
   * Undefined when that is nothing.
   * @returns the batch, and what has kept it from becoming full
   */
  async next(signal: AbortSignal): Promise<{ batch: Batch | undefined; error?: unknown }> {
    const { maxMessages, maxAgeMs, maxBytes } = this.#limits;
    const first = plus(this.#after, 1);
    const messages: StreamMessage[] = [];
    const holes: Holes = { missing: [], maybeExpired: [] };
    let bytes = 0;
    let deadline = Number.POSITIVE_INFINITY;
    let failure: { error?: unknown } = {};
    this.#isContinued = false;
    try {
      while (
        !signal.aborted &&
        messages.length < maxMessages &&
        bytes < maxBytes &&
        performance.now() < deadline
      ) {
        const size = this.#fullReads < FULL_READS ? READ_AT_END : READ_BEHIND;
        const read = await readStreamMessages(this.#connection, this.#stream, {
          afterStreamSeq: this.#after,
          maxMessages: Math.min(size, maxMessages - messages.length),
          maxBytes: READ_BYTES,
          raw: true,
        });
        this.#fullReads = read.length < READ_AT_END ? 0 : this.#fullReads + 1;
        if (read.length > 0) await this.#assertContinued();
        const facts = this.#isDense(read) ? undefined : await this.#readFacts();
        for (const message of read) {
          if (facts) this.#passTo(plus(message.streamSeq, -1), holes, facts);
          this.#after = message.streamSeq;
          this.#afterAtUs = this.#sinceUs = message.storedAtUs;
          messages.push(message);
          bytes += message.payload.length + MESSAGE_BYTES;
        }
        if (read.length === 0) {
          this.#isContinued = false;
          await this.#lookForGap(holes);
          await pause(Math.min(IDLE_PAUSE_MS, Math.max(0, deadline - performance.now())), signal);
        }
        if (this.#after >= first) deadline = Math.min(deadline, performance.now() + maxAgeMs);
        if (hasReachedEnd(read) && messages.length < maxMessages) {
          this.#isContinued = false;
          await pause(Math.min(PAUSE_AT_END_MS, Math.max(0, deadline - performance.now())), signal);
        }
      }
    } catch (error) {
      failure = { error };
    }
    const { epoch, created } = this.#start;
    const batch = { stream: this.#stream, epoch, created, first, last: this.#after, messages, ...holes };
    return { batch: this.#after >= first ? batch : undefined, ...failure };
  }

  #isDense(read: readonly StreamMessage[]): boolean {
    return (read.at(-1)?.streamSeq ?? this.#after) === this.#after + read.length;
  }

  #passTo(streamSeq: StreamSeq, { missing, maybeExpired }: Holes, { atUs, maxAgeUs }: StreamInfo): void {
    if (streamSeq <= this.#after) return;
    missing.push([plus(this.#after, 1), streamSeq]);
    if (atUs - this.#sinceUs >= maxAgeUs - SKEW_US) maybeExpired.push([plus(this.#after, 1), streamSeq]);
    this.#after = streamSeq;
    this.#afterAtUs = undefined;
  }

  /** @throws RepriseError `events_lost` */
  async #assertContinued(): Promise<void> {
    if (this.#isContinued) return;
    if (this.#afterAtUs !== undefined) {
      const storedAtUs = await readStoredAtUs(this.#connection, this.#stream, this.#after);
      if (storedAtUs !== undefined && storedAtUs !== this.#afterAtUs) throw this.#changed();
    }
    this.#isContinued = true;
  }

  /**
   * Checks the state of the stream: if messages expired or were lost and no message follows them, no read shows the gap.
   * @throws RepriseError `events_lost`
   */
  async #lookForGap(holes: Holes): Promise<void> {
    const now = performance.now();
    if (now - this.#factsAtMs < FACTS_EVERY_MS) return;
    this.#factsAtMs = now;
    const facts = await this.#readFacts();
    this.#passTo(plus(facts.firstStreamSeq, -1), holes, facts);
    if (facts.lastStreamSeq === this.#after) this.#sinceUs = facts.atUs;
  }

  /** @throws RepriseError `events_lost`, `broker_unavailable` */
  async #readFacts(): Promise<StreamInfo> {
    const known = { created: this.#start.created, last: this.#after };
    const facts = await readSettledInfo(this.#connection, this.#stream, known);
    if (facts.created !== this.#start.created || facts.lastStreamSeq < this.#after) throw this.#changed();
    return facts;
  }

  #changed(): RepriseError {
    return new RepriseError(
      "events_lost",
      `${this.#stream} is another one, or has lost what was archived of it.`,
    );
  }
}

/** A read that is short because of its bytes, and not of the stream, says nothing of its end. */
function hasReachedEnd(read: readonly StreamMessage[]): boolean {
  const bytes = read.reduce((sum, { payload }) => sum + payload.length, 0);
  return read.length > 0 && read.length < READ_AT_END && bytes < READ_BYTES / 2;
}
