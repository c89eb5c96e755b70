import { type Hub, FrameBuffer, type GenerationCache } from "@reprise/log";
import {
  encodeSseError,
  encodeSseRetry,
  SSE_HEARTBEAT,
  RepriseError,
  toRepriseError,
} from "@reprise/protocol";
import { httpSseFraming } from "./http-sse-framing.ts";
import { Smoothing } from "./smoothing.ts";
import type { SseSocket } from "./sse-socket.ts";

/** What all streams of a node count together. Plain numbers: they are added to for every write and read at a scrape. */
export interface ReaderCounts {
  /** Events that were handed to a socket, once for each reader. */
  eventsDelivered: number;
  /** How often a reader fell so far behind that it had to read the log. */
  fallenBack: number;
}

export interface SseStreamOptions {
  hub: Hub;
  cache: GenerationCache;
  socket: SseSocket;
  /** The first event to send. */
  nextSeq: number;
  counts: ReaderCounts;
  onError: (error: RepriseError) => void;
  onClose: (stream: SseStream) => void;
}

/** The most that is handed to a socket at once. What a reader leaves unread is bounded by this and the socket's own buffer. */
const MAX_WRITE_BYTES = 64 * 1_024;

/** What readers are told under `fail_closed` when moderation is unavailable. */
const UNJUDGED_RETRY_MS = 1_000;
const UNJUDGED = new RepriseError(
  "moderation_unavailable",
  "Moderation is unavailable. No events were lost; retry.",
);

/**
 * One reader: a position in a cache, moved on as fast as the socket takes it. Nothing is buffered for a reader: while its
 * socket is full the position stays where it is, and if the hub has meanwhile let go of those events, they are read from the
 * log, one small batch at a time, until the reader is back in the range that the hub holds. Where the policy asks for smoothing,
 * the position moves at most once per interval, and then over everything that is there. It never passes what the cache may show: a
 * reader waits for moderation as it does for events.
 */
export class SseStream {
  readonly #options: SseStreamOptions;
  readonly #stopListening: () => void;
  readonly #smoothing: Smoothing | undefined;
  #nextSeq: number;
  /** The first event of what was handed to the socket last. */
  #handedSeq: number;
  #full = false;
  #readingBehind = false;
  /** Whether what was sent last came from the log, not from the hub's memory. */
  #isBehind = false;
  #closed = false;
  #writtenAt = Date.now();

  constructor(options: SseStreamOptions) {
    this.#options = options;
    this.#nextSeq = options.nextSeq;
    this.#handedSeq = options.nextSeq;
    const intervalMs = options.cache.policy?.delivery.min_interval_ms ?? 0;
    const pump = () => this.#pump();
    if (intervalMs > 0) this.#smoothing = new Smoothing(intervalMs, pump);
    this.#stopListening = options.cache.listen(this.#smoothing?.onProgress ?? pump);
    options.socket.onDrain(() => this.#drained());
    options.socket.onClose(() => this.#close());
  }

  /** The last event that the connection has taken: what was handed to a socket that is full is not. */
  get takenSeq(): number {
    return (this.#full ? this.#handedSeq : this.#nextSeq) - 1;
  }

  /** The last event that was handed to the socket, taken or not. */
  get sentSeq(): number {
    return this.#nextSeq - 1;
  }

  /** Sends what there is, and from then on what comes. */
  start(): void {
    this.#pump();
  }

  /** Sends a comment if nothing else was sent for a while, so that proxies and clients know the connection to be alive. */
  heartbeat(now: number, everyMs: number): void {
    if (this.#full || this.#closed || now - this.#writtenAt < everyMs) return;
    this.#writtenAt = now;
    this.#full = !this.#options.socket.writeText(SSE_HEARTBEAT);
  }

  /** Tells the client to come back after a while, to this node or another, and breaks the connection. */
  disconnectWithRetry(retryMs: number): void {
    if (this.#closed) return;
    this.#options.socket.writeText(encodeSseRetry(retryMs));
    this.#options.socket.breakOff();
    this.#close();
  }

  #pump(): void {
    const { cache } = this.#options;
    // A reader that is slow, or does not read at all, does not get what was erased.
    if (cache.failure?.code === "generation_erased") return this.#fail(cache.failure);
    while (!this.#full && !this.#closed && !this.#readingBehind) {
      const view = cache.view(this.#nextSeq, MAX_WRITE_BYTES);
      if (view) {
        this.#isBehind = false;
        this.#write(view);
      } else if (cache.failure) this.#fail(cache.failure);
      else if (this.#nextSeq <= cache.shownSeq) void this.#readBehind();
      else if (cache.isOver) return this.#finish();
      else if (cache.visibility?.isUnavailable) this.#turnAway();
      else return;
    }
  }

  #write({ bytes, next }: { bytes: Buffer; next: number }): void {
    const { socket, counts } = this.#options;
    counts.eventsDelivered += next - this.#nextSeq;
    this.#handedSeq = this.#nextSeq;
    this.#nextSeq = next;
    this.#full = !socket.writeFrames(bytes);
    this.#writtenAt = Date.now();
  }

  #drained(): void {
    this.#full = false;
    this.#pump();
  }

  async #readBehind(): Promise<void> {
    const { hub, cache, counts } = this.#options;
    this.#readingBehind = true;
    if (!this.#isBehind) counts.fallenBack++;
    this.#isBehind = true;
    try {
      const payloads = await hub.readHistory(cache, this.#nextSeq);
      const page = new FrameBuffer(httpSseFraming, this.#nextSeq);
      for (const payload of payloads) page.append(cache.cursorAt(page.nextSeq), payload);
      while (!this.#closed && this.#nextSeq < page.nextSeq) {
        this.#write(page.view(this.#nextSeq, MAX_WRITE_BYTES)!);
      }
    } catch (error) {
      this.#fail(toRepriseError(error));
    }
    this.#readingBehind = false;
    this.#pump();
  }

  #finish(): void {
    this.#options.socket.end();
    this.#close();
  }

  /** Readers come back after a pause: the state does not change at once. */
  #turnAway(): void {
    this.#options.socket.writeText(encodeSseRetry(UNJUDGED_RETRY_MS));
    this.#fail(UNJUDGED);
  }

  /** In-band, because the headers are gone; then broken off, because a clean end would say that the generation has ended. */
  #fail(error: RepriseError): void {
    if (this.#closed) return;
    this.#options.onError(error);
    this.#options.socket.writeText(encodeSseError(JSON.stringify(error.toBody())));
    this.#options.socket.breakOff();
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopListening();
    this.#smoothing?.stop();
    this.#options.onClose(this);
  }
}
