import {
  type Cursor,
  decodeEvent,
  type EffectivePolicy,
  encodeCursor,
  type GenerationRef,
  isTerminal,
  type KnownEvent,
  peekSeq,
  peekType,
  type RepriseError,
} from "@reprise/protocol";
import { FrameLog, type Framing } from "./frame-log.ts";
import type { LogSnapshot, StoredEvent } from "./log-reader.ts";
import { readPolicy } from "./requested-policy.ts";

/** What an event is to a tail whose last event is `lastSeq`. */
export type Place = "next" | "known" | "gap";

/** What a live message was to a tail. `differs`: it has the place of a known event and is another one. */
export type LiveJudgement = Place | "differs";

/** The live feed may lose, repeat and reorder: only the successor of the last event is taken from it. */
export function judgePlace(lastSeq: number, seq: number): Place {
  if (seq === lastSeq + 1) return "next";
  return seq <= lastSeq ? "known" : "gap";
}

/** Live events that came too early, while the log is read for those before them. What does not fit is read from the log too. */
const MAX_HELD = 128;
const MAX_HELD_BYTES = 256 * 1_024;

/** An attempt, and whether the store had lost events before it. */
interface Attempt {
  readonly attempt: number;
  readonly fromSeq: number;
  readonly afterLoss: boolean;
}

/** A place in the log whose stream sequence is known, so that reading can begin there. */
interface Mark {
  readonly seq: number;
  readonly streamSeq: number;
}

/**
 * One generation's events in a node's memory, in the order of the log, without holes: what every reader of the generation on
 * this node is served from. A tail does no I/O; the hub feeds it from the live feed and from the log, in any order.
 */
export class Tail {
  readonly ref: GenerationRef;
  readonly frames: FrameLog;
  /** Whether the log still had its seq 0, which is not among the frames: readers never see it. */
  readonly beginsWhole: boolean;
  /** What its seq 0 says; undefined for a log that has lost it. */
  readonly policy: EffectivePolicy | undefined;
  /** Why the tail gets no more events: the log can't be read, or the hub has dropped it. Its readers are broken off. */
  failure: RepriseError | undefined;
  ended = false;
  #lastSeq: number;
  #attempts: Attempt[] = [];
  #marks: Mark[] = [];
  #held = new Map<number, Uint8Array>();
  #heldBytes = 0;
  /** The newest event that the live feed has shown too early. */
  #shownSeq = -1;
  #doubted = false;
  readonly #listeners = new Set<() => void>();

  /** @param snapshot at least one event */
  constructor(ref: GenerationRef, framing: Framing, snapshot: LogSnapshot) {
    this.ref = ref;
    const firstSeq = peekSeq(snapshot.events[0]!);
    this.beginsWhole = firstSeq === 0;
    this.policy = this.beginsWhole ? readPolicy(snapshot.events[0]!) : undefined;
    this.#lastSeq = firstSeq - 1;
    this.frames = new FrameLog(framing, Math.max(1, firstSeq));
    for (const payload of snapshot.events) this.#append(payload);
    this.#mark(snapshot.streamSeq);
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get attempt(): number {
    return this.#attempts.at(-1)?.attempt ?? 0;
  }

  get readers(): number {
    return this.#listeners.size;
  }

  /** The stream sequence to read on from: everything up to it is in the tail. */
  get lastKnownStreamSeq(): number {
    return this.#marks.at(-1)?.streamSeq ?? 0;
  }

  /** During which attempt an event was written; undefined for one that the tail does not reach. */
  attemptAt(seq: number): number | undefined {
    if (seq > this.#lastSeq) return undefined;
    return this.#attempts.findLast(({ fromSeq }) => fromSeq <= seq)?.attempt ?? 0;
  }

  /**
   * Whether a cursor is of an event that the store has lost: the log was taken up again before its place, by a later attempt which
   * says that events had been lost.
   */
  hasLost({ attempt, seq }: Cursor): boolean {
    return this.#attempts.some((later) => later.afterLoss && later.attempt > attempt && later.fromSeq <= seq);
  }

  cursorAt(seq: number): string {
    return encodeCursor({ attempt: this.attemptAt(seq) ?? this.attempt, seq });
  }

  /** The nearest place before an event from which the log can be read towards it. */
  streamSeqBefore(seq: number): number {
    return this.#marks.findLast((mark) => mark.seq < seq)?.streamSeq ?? 0;
  }

  /**
   * Takes one message of the live feed. `sequence` reads its stream sequence, which costs parsing headers. While the last event is
   * doubted its successor is kept like one that has come too early.
   */
  acceptLive(payload: Uint8Array, sequence: () => number): LiveJudgement {
    const seq = peekSeq(payload);
    const place = judgePlace(this.#lastSeq, seq);
    if (place === "known") return this.isKnown(payload) ? "known" : "differs";
    if (place === "gap" || this.#doubted) {
      this.#hold(seq, payload);
      return "gap";
    }
    this.#append(payload);
    if (seq % MARK_EVERY === 0) this.#mark(sequence());
    if (this.#held.size > 0) this.#appendHeld();
    return "next";
  }

  /**
   * Takes what was read from the log. Where that shows the last event, there is no doubt about it any more; where it shows another
   * one in a place that is known, there is.
   */
  acceptStored(events: readonly StoredEvent[]): void {
    if (events.some(({ payload }) => !this.isKnown(payload))) {
      this.#doubted = true;
      return;
    }
    for (const { payload, streamSeq } of events) {
      const seq = peekSeq(payload);
      if (seq === this.#lastSeq) this.#doubted = false;
      if (!this.#doubted && judgePlace(this.#lastSeq, seq) === "next") this.#append(payload);
      if (seq === this.#lastSeq) this.#mark(streamSeq);
    }
    if (!this.#doubted) this.#appendHeld();
  }

  /** Whether the tail has nothing else in an event's place, as far as it is still in memory. */
  isKnown(payload: Uint8Array): boolean {
    const known = this.frames.payloadAt(peekSeq(payload));
    return known === undefined || Buffer.compare(known, payload) === 0;
  }

  /** Takes nothing more until the log has shown the last event again: the store may have lost it. */
  doubt(): void {
    this.#doubted = true;
  }

  get isDoubted(): boolean {
    return this.#doubted;
  }

  /** Whether the live feed has shown an event that the tail does not reach yet, kept or not. */
  get hasGap(): boolean {
    return this.#shownSeq > this.#lastSeq;
  }

  /** Calls back, once per tick at most, when there are new frames or the tail has failed. Returns how to stop that. */
  listen(onProgress: () => void): () => void {
    this.#listeners.add(onProgress);
    return () => this.#listeners.delete(onProgress);
  }

  /** One listener's exception is reported and keeps nothing from the others. */
  notify(onError: (error: unknown) => void): void {
    for (const onProgress of this.#listeners) {
      try {
        onProgress();
      } catch (error) {
        onError(error);
      }
    }
  }

  /** @throws RepriseError `protocol_violation`, and then the tail is as it was */
  #append(payload: Uint8Array): void {
    const seq = this.#lastSeq + 1;
    const type = peekType(payload);
    if (type === "generation.started") {
      const { attempt, reason } = decodeEvent(payload) as StartedEvent;
      this.#attempts.push({ attempt, fromSeq: seq, afterLoss: reason === "log_lost" });
    }
    if (isTerminal(type)) this.ended = true;
    if (seq > 0) this.frames.append(encodeCursor({ attempt: this.attempt, seq }), payload);
    this.#lastSeq = seq;
  }

  #hold(seq: number, payload: Uint8Array): void {
    this.#shownSeq = Math.max(this.#shownSeq, seq);
    if (this.#held.has(seq) || this.#held.size === MAX_HELD) return;
    if (this.#heldBytes + payload.length > MAX_HELD_BYTES) return;
    this.#held.set(seq, Uint8Array.from(payload));
    this.#heldBytes += payload.length;
  }

  #release(seq: number): Uint8Array | undefined {
    const payload = this.#held.get(seq);
    if (this.#held.delete(seq)) this.#heldBytes -= payload!.length;
    return payload;
  }

  #appendHeld(): void {
    for (const [seq] of this.#held) if (seq <= this.#lastSeq) this.#release(seq);
    for (let next = this.#release(this.#lastSeq + 1); next; next = this.#release(this.#lastSeq + 1))
      this.#append(next);
  }

  /** Remembers that the last event has this stream sequence: every 64th place, and the newest. */
  #mark(streamSeq: number): void {
    const [previous, last] = this.#marks.slice(-2);
    if (previous && last && last.seq - previous.seq < MARK_EVERY) this.#marks.pop();
    this.#marks.push({ seq: this.#lastSeq, streamSeq });
  }
}

const MARK_EVERY = 64;

type StartedEvent = Extract<KnownEvent, { type: "generation.started" }>;
