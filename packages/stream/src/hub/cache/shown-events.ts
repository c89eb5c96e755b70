import {
  decodeEvent,
  type EffectivePolicy,
  encodeCursor,
  isTerminal,
  peekSeq,
  REQUEST_SEQ,
  type Seq,
  type SeqRange,
  type Verdict,
  Withdrawals,
} from "@reprise/protocol";
import { holdingModeration, Visibility } from "@reprise/moderation";
import type { Attempts } from "./attempts.ts";
import { FrameBuffer, type Framing } from "./frame-buffer.ts";

type WithdrawalListener = (seq: Seq, changed: readonly SeqRange[]) => void;

export interface ShownEventsOptions {
  framing: Framing;
  /** The seq of the first event that will be appended. */
  firstSeq: Seq;
  attempts: Attempts;
  /** Undefined for a log that has lost its seq 0: readers are shown every event at once. */
  policy: EffectivePolicy | undefined;
}

/**
 * The events of one cache as readers may be sent them: nothing beyond `shownSeq`, and no text that was withdrawn. An event is projected and
 * framed once, when it is appended, and again when a later event withdraws text of it.
 */
export class ShownEvents {
  readonly #framing: Framing;
  readonly #attempts: Attempts;
  readonly #visibility: Visibility | undefined;
  readonly #withdrawalListeners = new Set<WithdrawalListener>();
  #frames: FrameBuffer;
  /** Undefined while nothing has been withdrawn. */
  #withdrawals: Withdrawals | undefined;
  /** Before that, withdrawn text is removed from the frames once for the whole snapshot. */
  #isLoaded = false;
  #lastSeq: Seq;
  #ended = false;

  constructor({ framing, firstSeq, attempts, policy }: ShownEventsOptions) {
    this.#framing = framing;
    this.#attempts = attempts;
    const moderation = holdingModeration(policy);
    const widened = (range: SeqRange, channel: string) => this.#withdrawals?.widened(range, channel) ?? range;
    this.#visibility = moderation && new Visibility(moderation, widened);
    this.#frames = new FrameBuffer(framing, Math.max(1 as Seq, firstSeq));
    this.#lastSeq = (firstSeq - 1) as Seq;
  }

  /** The last event, shown or not. */
  get lastSeq(): Seq {
    return this.#lastSeq;
  }

  /** True after a terminal event, shown or not. In a moderated log more events may follow: see `isOver`. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The last event that readers may be sent. */
  get shownSeq(): Seq {
    return this.#visibility === undefined ? this.#lastSeq : this.#visibility.shownSeq(this.#lastSeq);
  }

  /** True if readers that have reached `shownSeq` have every event there will be. */
  get isOver(): boolean {
    return this.#ended && this.shownSeq === this.#lastSeq;
  }

  /** The last event for readers who can't be told later that text was withdrawn: of a `retract` less than `shownSeq` while text waits to be judged. */
  get settledSeq(): Seq {
    return this.#visibility === undefined ? this.#lastSeq : this.#visibility.settledSeq(this.#lastSeq);
  }

  /** True if such readers have every event there will be, once they have reached `settledSeq`. */
  get isSettled(): boolean {
    return this.#ended && this.settledSeq === this.#lastSeq;
  }

  /** Limit of the events that readers may see; undefined if they don't have to wait for moderation. */
  get visibility(): Pick<Visibility, "judged" | "isUnavailable" | "isUnjudged" | "onLag"> | undefined {
    return this.#visibility;
  }

  /** The frames kept in memory. The events themselves are available through `view` and `payloadAt`. */
  get frames(): Pick<FrameBuffer, "bytes" | "firstSeq"> {
    return this.#frames;
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

  /** True if no other event is in this event's place, as far as it is still in memory. If text was withdrawn, only the rest is compared. */
  agreesWith(payload: Uint8Array): boolean {
    const known = this.#frames.payloadAt(peekSeq(payload));
    return known === undefined || Buffer.compare(known, this.#project(payload)) === 0;
  }

  /** Takes a verdict, in any order. Returns whether readers can be sent anything new. */
  acceptVerdict(verdict: Verdict): boolean {
    const { shownSeq, settledSeq } = this;
    this.#visibility?.accept(verdict, this.#lastSeq);
    return this.shownSeq > shownSeq || this.settledSeq > settledSeq;
  }

  /**
   * Calls back, at once, with the `seq` of an event that withdraws text, and the ranges of other events that change with it. Views before that event
   * hold the text; later views no longer do. Returns a function that unsubscribes.
   */
  onWithdrawn(listener: WithdrawalListener): () => void {
    this.#withdrawalListeners.add(listener);
    return () => this.#withdrawalListeners.delete(listener);
  }

  /**
   * Takes the event after the last one.
   * @param type the event's type
   * @throws RepriseError `protocol_violation`, and then nothing has changed
   */
  append(type: string, payload: Uint8Array): void {
    const seq = (this.#lastSeq + 1) as Seq;
    if (type !== "output.delta") this.#note(seq, type, payload);
    if (seq > 0) this.#frames.append(encodeCursor(this.#attempts.newest(seq)), this.#project(payload));
    this.#lastSeq = seq;
    this.#visibility?.reached(seq, type, payload);
  }

  /** The snapshot is in: from now on each event that withdraws text changes the frames by itself. */
  loaded(): void {
    this.#isLoaded = true;
    if (this.#withdrawals) this.#rewrite({ fromSeq: REQUEST_SEQ, toSeq: this.#lastSeq });
  }

  /** Forgets the oldest frames until at most `maxBytes` are held. */
  trim(maxBytes: number): void {
    this.#frames.trim(maxBytes);
  }

  /** Forgets all frames. */
  erase(): void {
    this.#frames = new FrameBuffer(this.#framing, (this.#lastSeq + 1) as Seq);
  }

  /** Takes what an event changes about the events that are shown. */
  #note(seq: Seq, type: string, payload: Uint8Array): void {
    if (type === "moderation.redacted" || type === "moderation.halted") this.#withdraw(seq, payload);
    else if (isTerminal(type)) this.#ended = true;
    this.#visibility?.took(seq, type, () => decodeEvent(payload));
  }

  /** From now on no reader is sent what was withdrawn, from any cursor. */
  #withdraw(seq: Seq, payload: Uint8Array): void {
    const event = decodeEvent(payload);
    this.#withdrawals ??= new Withdrawals();
    const changed = this.#withdrawals.apply(event);
    for (const listener of this.#withdrawalListeners) listener(seq, changed);
    if (this.#isLoaded) for (const range of changed) this.#rewrite(range);
  }

  #rewrite({ fromSeq, toSeq }: SeqRange): void {
    this.#frames.replace(fromSeq, toSeq, (seq, payload) => {
      return { cursor: encodeCursor(this.#attempts.at(seq)), payload: this.#project(payload) };
    });
  }

  #project(payload: Uint8Array): Uint8Array {
    return this.#withdrawals ? this.#withdrawals.project(peekSeq(payload), payload) : payload;
  }
}
