import {
  type Cursor,
  decodeEvent,
  type EffectivePolicy,
  encodeCursor,
  type GenerationRef,
  hasText,
  isTerminal,
  type KnownEvent,
  type UnknownEvent,
  peekSeq,
  peekType,
  type RepriseError,
  type SeqRange,
  type MediaTranscript,
  type Verdict,
  Withdrawals,
  type StreamSeq,
  type Seq,
  REQUEST_SEQ,
  BEYOND_LOG,
} from "@reprise/protocol";
import { ReorderBuffer } from "./reorder-buffer.ts";
import type { FirstOutput } from "./first-output.ts";
import { FrameBuffer, type Framing } from "./frame-buffer.ts";
import { HUB_FAILURE } from "./hub-failure.ts";
import { areConsecutive } from "../../read/are-consecutive.ts";
import { isEventAt } from "../../read/is-event.ts";
import { Attempts } from "./attempts.ts";
import { StoredSample } from "./stored-sample.ts";
import { SeqIndex, INDEX_EVERY } from "./seq-index.ts";
import { compareSeq, type SeqOrder } from "./compare-seq.ts";
import type { LogSnapshot, StoredEvent } from "../../read/stored-event.ts";
import { readRequestMetadata, type RequestMetadata } from "../../read/requested-policy.ts";
import { CachedTranscript } from "./cached-transcript.ts";
import type { Derived } from "./derived.ts";
import { holdingModeration, Visibility } from "@reprise/moderation";

/** Relation of a live message to a cache. `differs`: another event has the same place. `malformed`: it is not an event. */
export type LiveEventKind = SeqOrder | "differs" | "malformed";

/**
 * One generation's events in a node's memory, in the order of the log, without holes: what every reader of the generation on
 * this node is served from. A cache does no I/O; the hub feeds it from the live feed and from the log, in any order.
 *
 * What readers get of it is what moderation lets them have: nothing beyond `shownSeq`, and nothing that was withdrawn as it was.
 */
export class GenerationCache {
  readonly ref: GenerationRef;
  /** True if the log still had its seq 0, which is not among the frames: readers never see it. */
  readonly beginsWhole: boolean;
  /** The metadata of its seq 0; undefined for a log that has lost it. */
  readonly requested: RequestMetadata | undefined;
  readonly policy: EffectivePolicy | undefined;
  /** Why the cache gets no more events: the log can't be read, or the hub has dropped it. Its readers are broken off. */
  failure: RepriseError | undefined;
  /** True if the log has its end, shown or not. In a moderated log more events may follow: see `isOver`. */
  ended = false;
  /** The first event that says something to readers; beyond the log while there is none. */
  firstOutputSeq: Seq = BEYOND_LOG;
  /** Timing of the first output; undefined if the output was there when the cache was made, or did not come as a message of the live feed. */
  firstOutput: FirstOutput | undefined;
  /** When one of its events was stored. */
  readonly sample = new StoredSample();
  readonly #framing: Framing;
  #frames: FrameBuffer;
  readonly #visibility: Visibility | undefined;
  /** Undefined while nothing has been withdrawn. */
  #withdrawals: Withdrawals | undefined;
  /** Before that, what is withdrawn is taken out of the frames once for all of the snapshot. */
  #isLoaded = false;
  #lastSeq: Seq;
  readonly #attempts = new Attempts();
  readonly #marks = new SeqIndex();
  readonly #early = new ReorderBuffer();
  readonly #transcript = new CachedTranscript();
  readonly #derived = new Set<Derived>([this.#transcript]);
  #doubted = false;
  readonly #listeners = new Set<() => void>();
  readonly #withdrawalListeners = new Set<(seq: Seq, changed: readonly SeqRange[]) => void>();

  /**
   * @param snapshot at least one event
   * @throws RepriseError `protocol_violation` when it holds what is no event at its place, `policy_unsupported` when a later version wrote
   *   its policy
   */
  constructor(ref: GenerationRef, framing: Framing, snapshot: LogSnapshot) {
    this.ref = ref;
    this.#framing = framing;
    // A snapshot has at least one event.
    const first = snapshot.events[0]!;
    const firstSeq = peekSeq(first);
    this.beginsWhole = firstSeq === 0;
    this.requested = this.beginsWhole ? readRequestMetadata(first) : undefined;
    if (this.beginsWhole && !this.requested) throw HUB_FAILURE.malformed;
    this.policy = this.requested?.policy;
    this.#lastSeq = (firstSeq - 1) as Seq;
    const moderation = holdingModeration(this.policy);
    const widened = (range: SeqRange, channel: string) => this.#withdrawals?.widened(range, channel) ?? range;
    this.#visibility = moderation && new Visibility(moderation, widened);
    this.#frames = new FrameBuffer(framing, Math.max(1 as Seq, firstSeq));
    for (const payload of snapshot.events) {
      if (!isEventAt((this.#lastSeq + 1) as Seq, payload)) throw HUB_FAILURE.malformed;
      this.#append(payload);
    }
    this.#isLoaded = true;
    if (this.#withdrawals) this.#rewrite({ fromSeq: REQUEST_SEQ, toSeq: this.#lastSeq });
    this.#mark(snapshot.streamSeq);
  }

  get lastSeq(): Seq {
    return this.#lastSeq;
  }

  get hasOutput(): boolean {
    return this.firstOutputSeq <= this.#lastSeq;
  }

  /** The last event that readers may be sent. */
  get shownSeq(): Seq {
    return this.#visibility === undefined ? this.#lastSeq : this.#visibility.shownSeq(this.#lastSeq);
  }

  /** True if readers that have reached `shownSeq` have every event there will be. */
  get isOver(): boolean {
    return this.ended && this.shownSeq === this.#lastSeq;
  }

  /** The last event for readers who can't be told later that text was withdrawn: of a `retract` less than `shownSeq` while text waits to be judged. */
  get settledSeq(): Seq {
    return this.#visibility === undefined ? this.#lastSeq : this.#visibility.settledSeq(this.#lastSeq);
  }

  /** True if such readers have every event there will be, once they have reached `settledSeq`. */
  get isSettled(): boolean {
    return this.ended && this.settledSeq === this.#lastSeq;
  }

  /** Limit of the events that readers may see; undefined if they don't have to wait for moderation. */
  get visibility(): Pick<Visibility, "judged" | "isUnavailable" | "isUnjudged" | "onLag"> | undefined {
    return this.#visibility;
  }

  /** The frames kept in memory. The events themselves are available through `view` and `payloadAt`. */
  get frames(): Pick<FrameBuffer, "bytes" | "firstSeq"> {
    return this.#frames;
  }

  /** Memory held, in bytes: the frames, and what was made of them. */
  get bytes(): number {
    let bytes = this.#frames.bytes;
    for (const derived of this.#derived) bytes += derived.bytes;
    return bytes;
  }

  /** Forgets what can be had again, until at most `maxBytes` are held: first what was made of the events, then the oldest events. */
  trim(maxBytes: number): void {
    if (this.bytes > maxBytes) for (const derived of this.#derived) derived.trim();
    this.#frames.trim(maxBytes);
  }

  /** Keeps what is made of the events for as long as the cache is kept, and as part of its memory. Returns how to end that before. */
  attach(derived: Derived): () => void {
    this.#derived.add(derived);
    return () => this.#derived.delete(derived);
  }

  /** The transcript of what may be shown; undefined where some of it has to be read from the log. Not for keeping: the next call brings it forward. */
  get transcript(): MediaTranscript | undefined {
    return this.#transcript.foldTo(this.shownSeq, (seq) => this.#frames.payloadAt(seq));
  }

  /** `FrameBuffer.view` of what readers may be sent. */
  view(seq: Seq, maxBytes: number): { bytes: Buffer; next: Seq } | undefined {
    return this.#frames.view(seq, maxBytes, this.shownSeq);
  }

  /** One event that is kept and may be shown, as it is to be shown. */
  payloadAt(seq: Seq): Buffer | undefined {
    return seq > this.shownSeq ? undefined : this.#frames.payloadAt(seq);
  }

  /** Those of consecutive events of the log that may be shown, as they are to be shown. */
  show(payloads: readonly Uint8Array[]): Uint8Array[] {
    const shown = payloads.filter((payload) => peekSeq(payload) <= this.shownSeq);
    return this.#withdrawals ? shown.map((payload) => this.#project(payload)) : shown;
  }

  /** Takes a verdict, in any order. Returns whether readers can be sent anything new. */
  acceptVerdict(verdict: Verdict): boolean {
    const { shownSeq, settledSeq } = this;
    this.#visibility?.accept(verdict, this.#lastSeq);
    return this.shownSeq > shownSeq || this.settledSeq > settledSeq;
  }

  get readers(): number {
    return this.#listeners.size;
  }

  /** The stream sequence to read on from: everything up to it is in the cache. */
  get lastKnownStreamSeq(): StreamSeq {
    return this.#marks.lastStreamSeq;
  }

  /** True if the cursor belongs to an event of the cache. */
  has(cursor: Cursor): boolean {
    return cursor.seq <= this.#lastSeq && this.cursorAt(cursor.seq) === encodeCursor(cursor);
  }

  /** True if the cursor's event was lost by the store, as the log records. */
  hasLost(cursor: Cursor): boolean {
    return this.#attempts.hasLost(cursor);
  }

  /** True if a cursor that `has` does not know is of an event that the store has lost. */
  hasIssued(cursor: Cursor): boolean {
    return this.#attempts.hasIssued(cursor);
  }

  cursorAt(seq: Seq): string {
    return encodeCursor(this.#attempts.at(seq));
  }

  /** The nearest place before an event from which the log can be read towards it. */
  streamSeqBefore(seq: Seq): StreamSeq {
    return this.#marks.streamSeqBefore(seq);
  }

  /**
   * Takes one message of the live feed. `sequence` reads its stream sequence, which costs parsing headers. While the last event is
   * doubted its successor is kept like one that has come too early.
   */
  acceptLive(payload: Uint8Array, sequence: () => StreamSeq): LiveEventKind {
    const seq = peekSeq(payload);
    if (seq < 0) return "malformed";
    const place = compareSeq(this.#lastSeq, seq);
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

  /** Records that the log continues up to an event. If the cache does not have that event, this is a gap. */
  expect(seq: Seq): void {
    this.#early.expect(seq);
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
      if (seq === this.#lastSeq) this.#doubted = false;
      if (!this.#doubted && compareSeq(this.#lastSeq, seq) === "next") {
        if (!isEventAt(seq, payload)) throw HUB_FAILURE.malformed;
        this.#append(payload);
      }
      if (seq === this.#lastSeq) this.#mark(streamSeq);
    }
    if (!this.#doubted) this.#appendEarly();
  }

  /** True if the cache has no other event in this event's place, as far as it is still in memory. If text was withdrawn, only the rest is compared. */
  isKnown(payload: Uint8Array): boolean {
    const known = this.#frames.payloadAt(peekSeq(payload));
    return known === undefined || Buffer.compare(known, this.#project(payload)) === 0;
  }

  /** Takes nothing more until the log has shown the last event again: the store may have lost it. */
  doubt(): void {
    this.#doubted = true;
  }

  get isDoubted(): boolean {
    return this.#doubted;
  }

  /** True if the log is known to have an event that the cache has not reached yet. */
  get hasGap(): boolean {
    return this.#early.newestSeq > this.#lastSeq;
  }

  /** The newest event that the log is known to have beyond the cache, or was told to have. */
  get expectedSeq(): Seq {
    return this.#early.newestSeq;
  }

  /** The log's leader does not have that event: it was never stored, or is lost. */
  forgetExpected(seq: Seq): void {
    this.#early.forgetExpected(seq);
  }

  /** Drops every event and fails: no reader is sent anything more of it. */
  erase(failure: RepriseError): void {
    this.failure = failure;
    this.#frames = new FrameBuffer(this.#framing, (this.#lastSeq + 1) as Seq);
    for (const derived of this.#derived) derived.forget();
    this.#early.forgetUpTo(BEYOND_LOG);
  }

  /**
   * Calls back, at once, with the `seq` of an event that withdraws text, and the ranges of other events that change with it. Views before that event
   * hold the text; later views no longer do. Returns a function that unsubscribes.
   */
  onWithdrawn(listener: (seq: Seq, changed: readonly SeqRange[]) => void): () => void {
    this.#withdrawalListeners.add(listener);
    return () => this.#withdrawalListeners.delete(listener);
  }

  /** Calls back, once per tick at most, when there are new frames or the cache has failed. Returns how to stop that. */
  listen(onProgress: () => void): () => void {
    this.#listeners.add(onProgress);
    return () => this.#listeners.delete(onProgress);
  }

  /** One listener's exception is reported and keeps nothing from the others. */
  notify(onError: (error: unknown) => void): void {
    if (this.firstOutput && this.firstOutput.shownAtMs === undefined && this.firstOutputSeq <= this.shownSeq)
      this.firstOutput.shownAtMs = performance.now();
    for (const onProgress of this.#listeners) {
      try {
        onProgress();
      } catch (error) {
        onError(error);
      }
    }
  }

  /** @throws RepriseError `protocol_violation`, and then the cache is as it was */
  #append(payload: Uint8Array): void {
    const seq = (this.#lastSeq + 1) as Seq;
    const type = peekType(payload);
    if (type !== "output.delta") this.#note(seq, type, payload);
    if (this.firstOutputSeq === BEYOND_LOG && hasText(type)) this.firstOutputSeq = seq;
    if (seq > 0) this.#frames.append(encodeCursor(this.#attempts.newest(seq)), this.#project(payload));
    this.#lastSeq = seq;
    this.#visibility?.reached(seq, type, payload);
  }

  /** Takes what an event changes about the log itself. */
  #note(seq: Seq, type: string, payload: Uint8Array): void {
    const decode = () => decodeEvent(payload);
    if (type === "generation.started") this.#attempts.add(decode());
    else if (type === "moderation.redacted" || type === "moderation.halted") this.#withdraw(decode());
    else if (isTerminal(type)) this.ended = true;
    this.#visibility?.took(seq, type, decode);
  }

  /** From now on no reader is sent what was withdrawn, from any cursor. */
  #withdraw(event: KnownEvent | UnknownEvent): void {
    this.#withdrawals ??= new Withdrawals();
    const changed = this.#withdrawals.apply(event);
    for (const listener of this.#withdrawalListeners) listener(event.seq, changed);
    if (this.#isLoaded) for (const range of changed) this.#rewrite(range);
  }

  #rewrite({ fromSeq, toSeq }: SeqRange): void {
    this.#frames.replace(fromSeq, toSeq, (seq, payload) => {
      return { cursor: this.cursorAt(seq), payload: this.#project(payload) };
    });
  }

  #project(payload: Uint8Array): Uint8Array {
    return this.#withdrawals ? this.#withdrawals.project(peekSeq(payload), payload) : payload;
  }

  #appendEarly(): void {
    this.#early.forgetUpTo(this.#lastSeq);
    for (
      let next = this.#early.take((this.#lastSeq + 1) as Seq);
      next;
      next = this.#early.take((this.#lastSeq + 1) as Seq)
    )
      this.#append(next);
  }

  /** Remembers that the last event has this stream sequence. */
  #mark(streamSeq: StreamSeq): void {
    this.#marks.add({ seq: this.#lastSeq, streamSeq });
  }
}
