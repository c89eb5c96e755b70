import { type GenerationCache } from "@reprise/stream";
import { PRESENCE_LEASE_MS, type PresenceRecord, publishPresence } from "@reprise/jobs";
import { type Publish } from "@reprise/broker";
import { type NodeId, type Seq, plus, REQUEST_SEQ } from "@reprise/protocol";
import type { Audience } from "../reader.ts";
import { type AnnouncementState, isAnnouncementDue } from "./announcement.ts";
import type { PresentReader } from "./present-reader.ts";

export interface AnnouncerOptions {
  readonly publish: Publish;
  /** No other process has this name, a later start of this one neither. */
  readonly node: NodeId;
  /** For how long a presence record counts. Default `PRESENCE_LEASE_MS`; all nodes have to agree. */
  readonly leaseMs?: number | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Announces this node's readers of one generation in `READERS`. What a reader's connection has taken is asked for ten times a
 * second at most, not told with every event.
 *
 * An announcement that did not reach the broker is sent again, the newest one only. One is in flight at a time, so they are
 * stored in order.
 */
export class Announcer {
  readonly #options: AnnouncerOptions;
  readonly #leaseMs: number;
  readonly #audience: Audience;
  #cache: GenerationCache;
  /** Those of the audience that are present. */
  #readers = 0;
  #stored: AnnouncementState["stored"];
  #sentAtMs = -Infinity;
  #visited = false;
  #leftAtMs = 0;
  /** Position of the furthest reader when it was last announced. */
  #seq: Seq = REQUEST_SEQ;
  #sending: Promise<void> | undefined;
  #isDrained = false;

  constructor(options: AnnouncerOptions, audience: Audience, cache: GenerationCache) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? PRESENCE_LEASE_MS;
    this.#audience = audience;
    this.#cache = cache;
  }

  /** Called when the audience has a new reader. */
  entered({ cache }: PresentReader): void {
    this.#cache = cache;
    this.#readers++;
    this.#announceIfDue(performance.now());
  }

  /** Called when a reader has left the audience. */
  left(): void {
    this.#readers--;
    if (this.#readers > 0) return;
    this.#visited = true;
    this.#leftAtMs = performance.now();
    this.#announceIfDue(this.#leftAtMs);
  }

  sweep(nowMs: number): void {
    if (!this.isDone(nowMs)) this.#announceIfDue(nowMs);
  }

  /** Returns true if there are no readers and that is announced, or the last announcement has expired. */
  isDone(nowMs: number): boolean {
    if (this.#readers > 0 || this.#sending) return false;
    const isAnnounced = !this.#visited && this.#stored?.readers === 0;
    return this.#cache.ended || isAnnounced || nowMs - this.#leftAtMs > this.#leaseMs;
  }

  /** Sends a last announcement, if there are readers, and none from then on. To be called before the readers are disconnected. */
  drain(): void {
    if (this.#isDrained) return;
    this.#isDrained = true;
    if (this.#readers === 0) return;
    const last = this.#record();
    // The announcement in flight may be an older one, of no readers, and it may get lost.
    if (this.#sending) this.#sending = this.#sending.then(() => this.#send(last));
    else void this.#send(last);
  }

  /** Drains, and waits for the announcements in flight. */
  async close(): Promise<void> {
    this.drain();
    await this.#sending;
  }

  #announceIfDue(nowMs: number): void {
    const readers = this.#readers;
    if (this.#isDrained || this.#sending || (this.#cache.ended && readers === 0)) return;
    const state: AnnouncementState = {
      stored: this.#stored,
      sentAtMs: this.#sentAtMs,
      readers,
      visited: this.#visited,
      progress: this.#isPaced && readers > 0 ? this.#record() : undefined,
    };
    if (isAnnouncementDue(state, { nowMs, leaseMs: this.#leaseMs })) void this.#send(this.#record());
  }

  #send(record: PresenceRecord): Promise<void> {
    const { publish, node, onError } = this.#options;
    const atMs = performance.now();
    this.#seq = record.seq;
    this.#sentAtMs = atMs;
    this.#visited = false;
    this.#stored = undefined;
    const sending = publishPresence(publish, { ref: this.#audience.ref, node }, record)
      .then((isStored) => void (isStored && (this.#stored = { ...record, atMs })), onError)
      .finally(() => void (this.#sending === sending && (this.#sending = undefined)));
    this.#sending = sending;
    return sending;
  }

  get #isPaced(): boolean {
    return this.#cache.policy?.pace !== undefined;
  }

  /** The furthest position stays in the record when the last reader has left. */
  #record(): PresenceRecord {
    const readers = this.#readers;
    const record = { readers, seq: readers > 0 ? this.#furthestSeq() : this.#seq };
    const { shownSeq, lastSeq } = this.#cache;
    if (!this.#isPaced || shownSeq >= lastSeq) return record;
    return { ...record, held: { fromSeq: plus(shownSeq, 1), toSeq: lastSeq } };
  }

  #furthestSeq(): Seq {
    let seq: Seq = REQUEST_SEQ;
    for (const { presence } of this.#audience.readers)
      if (presence) seq = Math.max(seq, presence.position.takenSeq);
    return seq;
  }
}
