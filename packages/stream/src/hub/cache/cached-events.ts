import {
  BEYOND_LOG,
  type Cursor,
  decodeEvent,
  encodeCursor,
  peekSeq,
  peekType,
  type Seq,
  type StreamSeq,
} from "@reprise/protocol";
import { isEventAt } from "../../read/is-event.ts";
import type { LogSnapshot, StoredEvent } from "../../read/stored-event.ts";
import type { Attempts } from "./attempts.ts";
import type { CacheFigures } from "./cache-figures.ts";
import { HUB_FAILURE } from "./hub-failure.ts";
import { ReorderBuffer } from "./reorder-buffer.ts";
import { INDEX_EVERY, SeqIndex } from "./seq-index.ts";
import type { ShownEvents } from "./shown-events.ts";

/** Relation of an event to a cache whose last event is `lastSeq`. */
type SeqOrder = "next" | "known" | "gap";

/** Relation of a live message to a cache. `differs`: another event has the same place. `malformed`: it is not an event. */
export type LiveEventKind = SeqOrder | "differs" | "malformed";

export interface CachedEventsOptions {
  attempts: Attempts;
  shown: ShownEvents;
  figures: CacheFigures;
}

/**
 * Puts one log's events in order, without holes, as they come from the live feed and from the log. Tells where each of them lies: its cursor, and
 * from which stream sequence the log can be read towards it.
 *
 * While the last event is doubted, because the store may have lost it, no event is taken until the log has shown it again.
 */
export class CachedEvents {
  readonly #attempts: Attempts;
  readonly #shown: ShownEvents;
  readonly #figures: CacheFigures;
  readonly #marks = new SeqIndex();
  readonly #early = new ReorderBuffer();
  #doubted = false;

  constructor({ attempts, shown, figures }: CachedEventsOptions) {
    this.#attempts = attempts;
    this.#shown = shown;
    this.#figures = figures;
  }

  /** The stream sequence to read on from: everything up to it is in the cache. */
  get lastKnownStreamSeq(): StreamSeq {
    return this.#marks.lastStreamSeq;
  }

  /** The nearest place before an event from which the log can be read towards it. */
  streamSeqBefore(seq: Seq): StreamSeq {
    return this.#marks.streamSeqBefore(seq);
  }

  cursorAt(seq: Seq): string {
    return encodeCursor(this.#attempts.at(seq));
  }

  /** True if the cursor belongs to an event of the cache. */
  has(cursor: Cursor): boolean {
    return cursor.seq <= this.#shown.lastSeq && this.cursorAt(cursor.seq) === encodeCursor(cursor);
  }

  /** True if the cursor's event was lost by the store, as the log records. */
  hasLost(cursor: Cursor): boolean {
    return this.#attempts.hasLost(cursor);
  }

  /** True if a cursor that `has` does not know is of an event that the store has lost. */
  hasIssued(cursor: Cursor): boolean {
    return this.#attempts.hasIssued(cursor);
  }

  /** True if the cache has no other event in this event's place, as far as it is still in memory. */
  isKnown(payload: Uint8Array): boolean {
    return this.#shown.agreesWith(payload);
  }

  /**
   * Takes the log as it was read first.
   * @throws RepriseError `protocol_violation` when it holds what is no event at its place
   */
  load({ events, streamSeq }: LogSnapshot): void {
    for (const payload of events) {
      if (!isEventAt(this.#nextSeq, payload)) throw HUB_FAILURE.malformed;
      this.#append(payload);
    }
    this.#shown.loaded();
    this.#mark(streamSeq);
  }

  /**
   * Takes one message of the live feed. `sequence` reads its stream sequence, which costs parsing headers. While the last event is
   * doubted its successor is kept like one that has come too early.
   */
  acceptLive(payload: Uint8Array, sequence: () => StreamSeq): LiveEventKind {
    const seq = peekSeq(payload);
    if (seq < 0) return "malformed";
    const place = compareSeq(this.#shown.lastSeq, seq);
    if (place !== "known" && !isEventAt(seq, payload)) return "malformed";
    if (place === "known") return this.isKnown(payload) ? "known" : "differs";
    if (place === "gap" || this.#doubted) {
      this.#early.add(seq, payload);
      return "gap";
    }
    this.#append(payload);
    if (seq % INDEX_EVERY === 0) this.#mark(sequence());
    if (this.#early.size > 0) this.#appendEarly();
    return "next";
  }

  /**
   * Takes what was read from the log. Where that shows the last event, there is no doubt about it any more; where it shows another
   * one in a place that is known, there is.
   * @throws RepriseError `protocol_violation` for what is no event, and then the cache ends before it
   */
  acceptStored(events: readonly StoredEvent[]): void {
    if (!areConsecutive(events)) throw HUB_FAILURE.malformed;
    if (events.some(({ payload }) => !this.isKnown(payload))) {
      this.#doubted = true;
      return;
    }
    for (const { payload, streamSeq } of events) {
      const seq = peekSeq(payload);
      if (seq === this.#shown.lastSeq) this.#doubted = false;
      if (!this.#doubted && compareSeq(this.#shown.lastSeq, seq) === "next") {
        if (!isEventAt(seq, payload)) throw HUB_FAILURE.malformed;
        this.#append(payload);
      }
      if (seq === this.#shown.lastSeq) this.#mark(streamSeq);
    }
    if (!this.#doubted) this.#appendEarly();
  }

  /** Takes nothing more until the log has shown the last event again: the store may have lost it. */
  doubt(): void {
    this.#doubted = true;
  }

  get isDoubted(): boolean {
    return this.#doubted;
  }

  /** Records that the log continues up to an event. If the cache does not have that event, this is a gap. */
  expect(seq: Seq): void {
    this.#early.expect(seq);
  }

  /** True if the log is known to have an event that the cache has not reached yet. */
  get hasGap(): boolean {
    return this.#early.newestSeq > this.#shown.lastSeq;
  }

  /** The newest event that the log is known to have beyond the cache, or was told to have. */
  get expectedSeq(): Seq {
    return this.#early.newestSeq;
  }

  /** The log's leader does not have that event: it was never stored, or is lost. */
  forgetExpected(seq: Seq): void {
    this.#early.forgetExpected(seq);
  }

  /** Forgets all events that came too early. */
  erase(): void {
    this.#early.forgetUpTo(BEYOND_LOG);
  }

  get #nextSeq(): Seq {
    return (this.#shown.lastSeq + 1) as Seq;
  }

  /** @throws RepriseError `protocol_violation`, and then the cache is as it was */
  #append(payload: Uint8Array): void {
    const type = peekType(payload);
    if (type === "generation.started") this.#attempts.add(decodeEvent(payload));
    const seq = this.#nextSeq;
    this.#shown.append(type, payload);
    this.#figures.took(seq, type);
    this.#figures.input?.apply(decodeEvent(payload));
  }

  #appendEarly(): void {
    this.#early.forgetUpTo(this.#shown.lastSeq);
    for (let next = this.#early.take(this.#nextSeq); next; next = this.#early.take(this.#nextSeq))
      this.#append(next);
  }

  /** Remembers that the last event has this stream sequence. */
  #mark(streamSeq: StreamSeq): void {
    this.#marks.add({ seq: this.#shown.lastSeq, streamSeq });
  }
}

/** The live feed may lose, repeat and reorder: only the successor of the last event is taken from it. */
export function compareSeq(lastSeq: Seq, seq: Seq): SeqOrder {
  if (seq === lastSeq + 1) return "next";
  return seq <= lastSeq ? "known" : "gap";
}

/** True if each event was appended directly after the previous one, as in every part of a log. */
function areConsecutive(events: readonly StoredEvent[]): boolean {
  let next = -1;
  for (const { payload } of events) {
    const seq = peekSeq(payload);
    if (seq < 0 || (next >= 0 && seq !== next)) return false;
    next = seq + 1;
  }
  return true;
}
