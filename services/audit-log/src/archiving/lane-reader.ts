import { setTimeout as pause } from "node:timers/promises";
import type { StreamRange } from "@reprise/archive";
import { type Broker, type PlacedMessage, readPlaces, readStoredAtUs, readStreamFacts } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import type { Batch } from "./batch.ts";
import type { LaneStart } from "./lane-start.ts";

/** When a batch is full. */
export interface BatchLimits {
  readonly maxMessages: number;
  /** Since its first message was read. */
  readonly maxAgeMs: number;
  readonly maxBytes: number;
}

const READ_MESSAGES = 1_000;
const READ_BYTES = 1_024 * 1_024;
/** What a message takes in memory besides its payload: headers, mostly. */
const MESSAGE_BYTES = 400;
const IDLE_PAUSE_MS = 200;
const FACTS_EVERY_MS = 1_000;

/**
 * Reads a stream from a place on, batch by batch. It keeps no place at the broker: whoever reads says where to begin.
 *
 * While nothing comes, the stream may lose its end and grow past this place again, or be made anew: what comes next is then no continuation of
 * what was read. So before anything is read behind a pause, the message read last must still be there, or nothing at all.
 */
export class LaneReader {
  readonly #connection: Broker["reads"];
  readonly #stream: string;
  readonly #limits: BatchLimits;
  readonly #start: LaneStart;
  #after: number;
  /** When the message at `#after` was stored, if one was there. */
  #afterAtUs: number | undefined;
  #isContinued = false;
  #factsAtMs = Number.NEGATIVE_INFINITY;

  constructor(connection: Broker["reads"], stream: string, start: LaneStart, limits: BatchLimits) {
    this.#connection = connection;
    this.#stream = stream;
    this.#limits = limits;
    this.#start = start;
    this.#after = start.after;
    this.#afterAtUs = start.afterAtUs;
  }

  /**
   * The next batch: a full one, or what there is when it has become old enough, when `signal` aborts, or when the stream can't be read.
   * Undefined when that is nothing.
   * @returns the batch, and what has kept it from becoming full
   */
  async next(signal: AbortSignal): Promise<{ batch: Batch | undefined; error?: unknown }> {
    const { maxMessages, maxAgeMs, maxBytes } = this.#limits;
    const first = this.#after + 1;
    const messages: PlacedMessage[] = [];
    const missing: StreamRange[] = [];
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
        const read = await readPlaces(this.#connection, this.#stream, {
          afterStreamSeq: this.#after,
          maxMessages: Math.min(READ_MESSAGES, maxMessages - messages.length),
          maxBytes: READ_BYTES,
        });
        if (read.length > 0) await this.#assertContinued();
        for (const message of read) {
          this.#passTo(message.streamSeq - 1, missing);
          this.#after = message.streamSeq;
          this.#afterAtUs = message.storedAtUs;
          messages.push(message);
          bytes += message.payload.length + MESSAGE_BYTES;
        }
        if (read.length === 0) {
          this.#isContinued = false;
          await this.#lookForGap(missing);
          await this.#idle(signal, deadline);
        }
        if (this.#after >= first) deadline = Math.min(deadline, performance.now() + maxAgeMs);
      }
    } catch (error) {
      failure = { error };
    }
    const { epoch, created } = this.#start;
    const batch = { stream: this.#stream, epoch, created, first, last: this.#after, messages, missing };
    return { batch: this.#after >= first ? batch : undefined, ...failure };
  }

  #passTo(streamSeq: number, missing: StreamRange[]): void {
    if (streamSeq <= this.#after) return;
    missing.push([this.#after + 1, streamSeq]);
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

  /** What has expired, or was lost, with nothing behind it shows in no message. @throws RepriseError `events_lost` */
  async #lookForGap(missing: StreamRange[]): Promise<void> {
    const now = performance.now();
    if (now - this.#factsAtMs < FACTS_EVERY_MS) return;
    this.#factsAtMs = now;
    const { created, firstStreamSeq, lastStreamSeq } = await readStreamFacts(this.#connection, this.#stream);
    if (created !== this.#start.created || lastStreamSeq < this.#after) throw this.#changed();
    this.#passTo(firstStreamSeq - 1, missing);
  }

  #changed(): RepriseError {
    return new RepriseError(
      "events_lost",
      `${this.#stream} is another one, or has lost what was archived of it.`,
    );
  }

  async #idle(signal: AbortSignal, deadline: number): Promise<void> {
    const ms = Math.min(IDLE_PAUSE_MS, Math.max(0, deadline - performance.now()));
    await pause(ms, undefined, { signal }).catch(() => {});
  }
}
