import { type Hub, FrameLog, type Tail } from "@reprise/log";
import { encodeSseError, encodeSseRetry, SSE_HEARTBEAT, type RepriseError, toRepriseError } from "@reprise/protocol";
import { httpSseFraming } from "./http-sse-framing.ts";
import type { SseSocket } from "./sse-socket.ts";

export interface SseStreamOptions {
  hub: Hub;
  tail: Tail;
  socket: SseSocket;
  /** The first event to send. */
  nextSeq: number;
  onError: (error: RepriseError) => void;
  onClose: (stream: SseStream) => void;
}

/** The most that is handed to a socket at once. What a reader leaves unread is bounded by this and the socket's own buffer. */
const MAX_WRITE_BYTES = 64 * 1_024;

/**
 * One reader: a position in a tail, moved on as fast as the socket takes it. Nothing is buffered for a reader: while its
 * socket is full the position stays where it is, and if the hub has meanwhile let go of those events, they are read from the
 * log, one small batch at a time, until the reader is back in the range that the hub holds.
 */
export class SseStream {
  readonly #options: SseStreamOptions;
  readonly #stopListening: () => void;
  #nextSeq: number;
  #full = false;
  #readingBehind = false;
  #closed = false;
  #writtenAt = Date.now();

  constructor(options: SseStreamOptions) {
    this.#options = options;
    this.#nextSeq = options.nextSeq;
    this.#stopListening = options.tail.listen(() => this.#pump());
    options.socket.onDrain(() => this.#drained());
    options.socket.onClose(() => this.#close());
  }

  /** Sends what there is, and from then on whatever comes. */
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
  sendHome(retryMs: number): void {
    if (this.#closed) return;
    this.#options.socket.writeText(encodeSseRetry(retryMs));
    this.#options.socket.breakOff();
    this.#close();
  }

  #pump(): void {
    const { tail, socket } = this.#options;
    while (!this.#full && !this.#closed && !this.#readingBehind) {
      const view = tail.frames.view(this.#nextSeq, MAX_WRITE_BYTES);
      if (view) {
        this.#nextSeq = view.next;
        this.#full = !socket.writeFrames(view.bytes);
        this.#writtenAt = Date.now();
      } else if (tail.failure) this.#fail(tail.failure);
      else if (this.#nextSeq < tail.frames.firstSeq) void this.#readBehind();
      else if (tail.ended) return this.#finish();
      else return;
    }
  }

  #drained(): void {
    this.#full = false;
    this.#pump();
  }

  async #readBehind(): Promise<void> {
    const { hub, tail, socket } = this.#options;
    this.#readingBehind = true;
    try {
      const payloads = await hub.readBehind(tail, this.#nextSeq);
      const page = new FrameLog(httpSseFraming, this.#nextSeq);
      for (const payload of payloads) page.append(tail.cursorAt(page.nextSeq), payload);
      while (!this.#closed && this.#nextSeq < page.nextSeq) {
        const view = page.view(this.#nextSeq, MAX_WRITE_BYTES)!;
        this.#nextSeq = view.next;
        this.#full = !socket.writeFrames(view.bytes);
      }
      this.#writtenAt = Date.now();
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
    this.#options.onClose(this);
  }
}
