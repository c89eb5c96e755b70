import {
  ConsumedInput,
  type EffectivePolicy,
  type GenerationRef,
  type MediaTranscript,
  peekSeq,
  type RepriseError,
  type Seq,
} from "@reprise/protocol";
import { readRequestMetadata, type RequestMetadata } from "../../read/requested-policy.ts";
import type { LogSnapshot } from "../../read/stored-event.ts";
import { Attempts } from "./attempts.ts";
import { CacheFigures } from "./cache-figures.ts";
import { CachedEvents } from "./cached-events.ts";
import { CachedTranscript, type Derived } from "./cached-transcript.ts";
import type { Framing } from "./frame-buffer.ts";
import { HUB_FAILURE } from "./hub-failure.ts";
import { ShownEvents } from "./shown-events.ts";

/**
 * One generation in a node's memory: what every reader of the generation on this node is served from. A cache does no I/O; the hub feeds
 * `events` from the live feed and from the log, in any order. Readers listen, and take from `shown` what moderation lets them have.
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
  readonly events: CachedEvents;
  readonly shown: ShownEvents;
  readonly figures = new CacheFigures();
  readonly #transcript = new CachedTranscript();
  readonly #derived = new Set<Derived>([this.#transcript]);
  readonly #listeners = new Set<() => void>();

  /**
   * @param snapshot at least one event
   * @throws RepriseError `protocol_violation` when it holds what is no event at its place, `policy_unsupported` when a later version wrote
   *   its policy
   */
  constructor(ref: GenerationRef, framing: Framing, snapshot: LogSnapshot) {
    this.ref = ref;
    // A snapshot has at least one event.
    const first = snapshot.events[0]!;
    const firstSeq = peekSeq(first);
    this.beginsWhole = firstSeq === 0;
    this.requested = this.beginsWhole ? readRequestMetadata(first) : undefined;
    if (this.beginsWhole && !this.requested) throw HUB_FAILURE.malformed;
    this.policy = this.requested?.policy;
    if (this.requested?.request.input_stream) this.figures.input = new ConsumedInput();
    const attempts = new Attempts();
    this.shown = new ShownEvents({ framing, firstSeq, attempts, policy: this.policy });
    this.events = new CachedEvents({ attempts, shown: this.shown, figures: this.figures });
    this.events.load(snapshot);
  }

  get lastSeq(): Seq {
    return this.shown.lastSeq;
  }

  get ended(): boolean {
    return this.shown.ended;
  }

  get shownSeq(): Seq {
    return this.shown.shownSeq;
  }

  get isOver(): boolean {
    return this.shown.isOver;
  }

  get settledSeq(): Seq {
    return this.shown.settledSeq;
  }

  get isSettled(): boolean {
    return this.shown.isSettled;
  }

  /** The transcript of what may be shown; undefined where some of it has to be read from the log. Not for keeping: the next call brings it forward. */
  get transcript(): MediaTranscript | undefined {
    return this.#transcript.foldTo(this.shownSeq, (seq) => this.shown.payloadAt(seq));
  }

  /** Memory held, in bytes: the frames, and what was made of them. */
  get bytes(): number {
    let { bytes } = this.shown.frames;
    for (const derived of this.#derived) bytes += derived.bytes;
    return bytes;
  }

  /** Forgets what can be had again, until at most `maxBytes` are held: first what was made of the events, then the oldest events. */
  trim(maxBytes: number): void {
    if (this.bytes > maxBytes) for (const derived of this.#derived) derived.trim();
    this.shown.trim(maxBytes);
  }

  /** Keeps what is made of the events for as long as the cache is kept, and as part of its memory. Returns how to end that before. */
  attach(derived: Derived): () => void {
    this.#derived.add(derived);
    return () => this.#derived.delete(derived);
  }

  /** Drops every event and fails: no reader is sent anything more of it. */
  erase(failure: RepriseError): void {
    this.failure = failure;
    this.shown.erase();
    for (const derived of this.#derived) derived.forget();
    this.events.erase();
  }

  get readers(): number {
    return this.#listeners.size;
  }

  /** Calls back, once per tick at most, when there are new frames or the cache has failed. Returns how to stop that. */
  listen(onProgress: () => void): () => void {
    this.#listeners.add(onProgress);
    return () => this.#listeners.delete(onProgress);
  }

  /** One listener's exception is reported and keeps nothing from the others. */
  notify(onError: (error: unknown) => void): void {
    if (this.figures.firstOutput) this.figures.showed(this.shownSeq);
    for (const onProgress of this.#listeners) {
      try {
        onProgress();
      } catch (error) {
        onError(error);
      }
    }
  }
}
